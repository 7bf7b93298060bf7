// Polls the configuration files, because network drives and many container mounts report no events.
import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, type ConfigSources } from './config.ts';
import { matchesOf } from './included-files.ts';
import type { LoadedConfig } from './load.ts';

type ConfigWatchParts = Readonly<{
  file: string;
  /** The running configuration, as `load` returned it. */
  current: LoadedConfig;
  load: (file: string) => Promise<LoadedConfig>;
  /** Applies a new configuration. If it throws, the old one counts as running, and the next poll tries again. */
  onConfig: (loaded: LoadedConfig) => void | Promise<void>;
  /** Called if the files match the running configuration again, even after they were broken for a while. */
  onUnchanged?: () => void;
  /** Called with the problems of the files (ConfigError), and with any other failure, after which the next poll tries again. */
  onError: (error: unknown) => void;
  /** Files count as complete if they haven't changed for this long. */
  settleMs?: number;
}>;

export type ConfigWatch = Awaited<ReturnType<typeof watchConfig>>;

const SETTLE_MS = 800;
/** A millisecond for each file, within these bounds, because polling thousands of files takes a while. */
const LOOK_EVERY_MS = { least: 1000, most: 3000 };

/** Resolves when no later change can be missed. */
export async function watchConfig(parts: ConfigWatchParts) {
  const { file, load, onConfig, onUnchanged, onError, settleMs = SETTLE_MS } = parts;
  let { current } = parts;
  let sources: readonly ConfigSources[] = [current.sources];
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = (milliseconds: number): Promise<boolean> =>
    delay(milliseconds, false, { ref: false, signal }).catch(() => false);

  async function takeOver(loaded: LoadedConfig): Promise<void> {
    // Notices at startup aren't configuration.
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
      const read = await load(file).catch((error: unknown) => {
        if (error instanceof ConfigError) return error;
        throw error;
      });
      const isBroken = read instanceof ConfigError;
      // A change of a file that runs, or of one that was read, may repair it.
      sources = isBroken ? [current.sources, read.sources] : [read.sources];
      const after = await lookAt(sources);
      // Otherwise, something was written during the read, or the configuration names files that weren't polled yet.
      if (isDeepStrictEqual(after, seen)) {
        known = seen;
        return isBroken ? onError(read) : takeOver(read);
      }
      seen = after;
    }
  }

  const first = await lookAt(sources);
  // They were read before the watch started. File systems count in ticks of some milliseconds.
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
        // Makes the next poll try again: no file changes when, for example, a store outage ends.
        known = new Map();
        onError(error);
      }
      isForced = await Promise.race([asked.promise, pause(everyMs)]);
    }
  }
  const running = run();

  return {
    /** Reads the files soon, even if they seem unchanged (SIGHUP). */
    reload: () => asked.resolve(true),
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

/** The last change of a file, and its time in epoch milliseconds. */
type Mark = Readonly<{ state: string; changedAt: number }>;
type Snapshot = ReadonlyMap<string, Mark>;

async function lookAt(sources: readonly ConfigSources[]): Promise<Snapshot> {
  const matches = await Promise.all(sources.flatMap(({ patterns }) => patterns).map(matchesOf));
  const seen = new Map<string, Mark>();
  // One at a time, so that a mount that hangs blocks one thread of Node's pool, not all.
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
