// Watches the files of the configuration of a running service: notices a change, waits until it is complete, and hands over a new
// configuration or its problems. By looking alone: network drives and many mounts of containers report no events.
import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, type ConfigSources } from './config.ts';
import { matchesOf } from './included-files.ts';
import type { LoadedConfig } from './load.ts';

type ConfigWatchParts = Readonly<{
  file: string;
  /** What runs now, as `load` returned it. */
  current: LoadedConfig;
  load: (file: string) => Promise<LoadedConfig>;
  /** Takes a new configuration over. When it throws, the old one counts as running, and the next look tries again. */
  onConfig: (loaded: LoadedConfig) => void | Promise<void>;
  onBroken: (error: ConfigError) => void;
  /** The files match the running configuration, also after they were broken for a while. */
  onUnchanged?: () => void;
  /** A failure that isn't a problem of the file. */
  onError: (error: unknown) => void;
  /** Files are whole when nothing has happened to them for this long. */
  settleMs?: number;
}>;

export type ConfigWatch = Awaited<ReturnType<typeof watchConfig>>;

const SETTLE_MS = 800;
/** A millisecond for each file, within these bounds: a look at thousands of them takes a while. */
const LOOK_EVERY_MS = { least: 1000, most: 3000 };

/** Begins to watch. Resolves when no later change can be missed. */
export async function watchConfig(parts: ConfigWatchParts) {
  const { file, load, onConfig, onBroken, onUnchanged, onError, settleMs = SETTLE_MS } = parts;
  let { current } = parts;
  let sources: readonly ConfigSources[] = [current.sources];
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (milliseconds: number): Promise<boolean> =>
    delay(milliseconds, false, { ref: false, signal }).catch(() => false);

  /** Resolves with what takes the files over. That isn't called where they changed again meanwhile. */
  async function read(): Promise<() => void | Promise<void>> {
    try {
      const loaded = await load(file);
      sources = [loaded.sources];
      return () => takeOver(loaded);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // Repairing any of these may be what makes it load.
      sources = [current.sources, error.sources];
      return () => onBroken(error);
    }
  }

  async function takeOver(loaded: LoadedConfig): Promise<void> {
    // What the start says to the operator isn't configuration.
    const [one, other] = [loaded, current].map(({ config }) => ({ ...config, notices: [] }));
    const isSame = isDeepStrictEqual(one, other);
    if (!isSame) await onConfig(loaded);
    current = loaded;
    if (isSame) onUnchanged?.();
  }

  async function round(isForced: boolean): Promise<void> {
    let seen = await lookAt(sources);
    if (!isForced && isDeepStrictEqual(seen, known)) return;
    while (!signal.aborted) {
      const before = seen;
      await pause(settleMs);
      seen = await lookAt(sources);
      if (signal.aborted || !isDeepStrictEqual(seen, before)) continue;
      const take = await read();
      const after = await lookAt(sources);
      // Otherwise something was written while it was read, or it names files that nothing has looked at yet.
      if (isDeepStrictEqual(after, seen)) {
        known = seen;
        return take();
      }
      seen = after;
    }
  }

  const first = await lookAt(sources);
  // They were read before anything was watched. File systems count in ticks of some milliseconds.
  const isOld = [...first.values()].every(({ changedAt }) => changedAt < current.readAt - 20);
  /** The state of the files before they were last read. */
  let known: Snapshot = isOld ? first : new Map();
  const everyMs = Math.min(Math.max(LOOK_EVERY_MS.least, first.size), LOOK_EVERY_MS.most);
  let asked = Promise.withResolvers<boolean>();

  async function run(): Promise<void> {
    let isForced = false;
    while (!signal.aborted) {
      asked = Promise.withResolvers();
      try {
        await round(isForced);
      } catch (error) {
        // So that the next look tries again: no file changes when, for example, an outage of the store ends.
        known = new Map();
        onError(error);
      }
      isForced = await Promise.race([asked.promise, pause(everyMs)]);
    }
  }
  const running = run();

  return {
    /** Reads them soon, also when nothing seems to have changed (SIGHUP). */
    reload: () => asked.resolve(true),
    /** Resolves when nothing is running any more. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

/** What was last done to a file, and when. */
type Mark = { readonly state: string; readonly changedAt: number };
type Snapshot = ReadonlyMap<string, Mark>;

async function lookAt(sources: readonly ConfigSources[]): Promise<Snapshot> {
  const matches = await Promise.all(sources.flatMap(({ patterns }) => patterns).map(matchesOf));
  const seen = new Map<string, Mark>();
  // One after the other, so that a mount that hangs holds one thread of Node's pool, not all.
  for (const name of new Set([...sources.flatMap(({ files }) => files), ...matches.flat()]))
    seen.set(name, await markOf(name));
  return seen;
}

async function markOf(file: string): Promise<Mark> {
  try {
    // Follows links: when a mounted folder is swapped, its names lead to other files.
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file);
    return { state: `${dev} ${ino} ${size} ${mtimeMs}`, changedAt: ctimeMs };
  } catch {
    return { state: 'absent', changedAt: 0 };
  }
}
