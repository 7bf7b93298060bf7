// Keeps a running service on the configuration that its files say: notices a change, waits until it is whole, loads it,
// and hands over what is new or what is wrong. Owns when to load; what a configuration replaces is the caller's business.
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, type ConfigSources } from './config.ts';
import { createFolderEvents, type FolderEvents } from './folder-events.ts';
import type { LoadedConfig } from './load.ts';
import {
  changeBetween,
  changedDocuments,
  endsAbruptly,
  isNewerThan,
  takeSnapshot,
  type Change,
  type Snapshot,
} from './snapshot.ts';

/** changed: it runs now. unchanged: it says what runs already. broken: nothing was taken over. */
export type ReloadOutcome = 'changed' | 'unchanged' | 'broken';

export type ConfigWatchParts = {
  readonly file: string;
  /** What runs now, as `load` returned it. */
  readonly current: LoadedConfig;
  readonly load: (file: string) => Promise<LoadedConfig>;
  /** Takes a new configuration over. When it throws, the old one counts as running, and the next look tries again. */
  readonly onConfig: (loaded: LoadedConfig, previous: LoadedConfig) => void | Promise<void>;
  readonly onBroken: (error: ConfigError) => void;
  /** The files say what runs already, also after they were broken for a while. */
  readonly onUnchanged?: () => void;
  /** What neither the file nor its writer can be blamed for. */
  readonly onError: (error: unknown) => void;
  /** A file is whole when nothing has happened to it for this long. */
  readonly settleMs?: number;
};

export interface ConfigWatch {
  /** Looks now, also when nothing seems to have changed (SIGHUP). Calls that come meanwhile share one answer. */
  reload(): Promise<ReloadOutcome>;
  /** Resolves when nothing is running any more. */
  stop(): Promise<void>;
}

const SETTLE_MS = 400;
/** Events of one change come in bursts. */
const GATHER_MS = 50;
/** Files that are replaced all the time are whole all the time: after this they are taken as they are. */
const PATIENCE_MS = 2000;
/** How often to look without being told, for file systems that tell nothing; longer for thousands of files. */
const LOOK_EVERY_MS = 2000;

/** Begins to watch. Resolves when no later change can be missed. */
export async function watchConfig(parts: ConfigWatchParts): Promise<ConfigWatch> {
  const watcher = new Watcher(parts);
  await watcher.start();
  return watcher;
}

type Answer = {
  readonly promise: Promise<ReloadOutcome>;
  readonly resolve: (outcome: ReloadOutcome) => void;
};
type Attempt = { readonly loaded: LoadedConfig } | { readonly error: unknown };

class Watcher implements ConfigWatch {
  readonly #parts: ConfigWatchParts;
  readonly #settleMs: number;
  readonly #stopped = new AbortController();
  readonly #events: FolderEvents;
  #timer: NodeJS.Timeout | undefined;
  #current: LoadedConfig;
  #sources: ConfigSources;
  /** How everything looked when it was last judged. */
  #judged: Snapshot = new Map();
  #running: Promise<void> | undefined;
  #wanted = false;
  #answer: Answer | undefined;

  constructor(parts: ConfigWatchParts) {
    this.#parts = parts;
    this.#settleMs = parts.settleMs ?? SETTLE_MS;
    this.#current = parts.current;
    this.#sources = parts.current.sources;
    this.#events = createFolderEvents(() => this.#wake());
  }

  async start(): Promise<void> {
    await this.#events.follow(this.#sources);
    // Loaded before anybody listened: what has changed since then is seen by its time.
    const { files } = this.#sources;
    this.#judged = await takeSnapshot(this.#sources);
    if (isNewerThan(this.#judged, this.#current.readAt)) this.#judged = new Map();
    this.#timer = setInterval(() => this.#wake(), Math.max(LOOK_EVERY_MS, files.length)).unref();
    this.#wake();
  }

  async reload(): Promise<ReloadOutcome> {
    if (this.#stopped.signal.aborted) return 'unchanged';
    this.#answer ??= openAnswer();
    const { promise } = this.#answer;
    this.#wake();
    return promise;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#events.close();
    await this.#running;
    this.#answer?.resolve('unchanged');
  }

  /** However often it is called: one round runs, and at most one follows. */
  #wake(): void {
    if (this.#stopped.signal.aborted) return;
    this.#wanted = true;
    this.#running ??= this.#runRounds();
  }

  async #runRounds(): Promise<void> {
    while (this.#wanted && (await this.#pause(GATHER_MS))) {
      this.#wanted = false;
      const answer = this.#answer;
      this.#answer = undefined;
      let outcome: ReloadOutcome = 'broken';
      try {
        outcome = await this.#round(answer !== undefined);
      } catch (error) {
        this.#parts.onError(error);
      }
      answer?.resolve(outcome);
    }
    this.#running = undefined;
  }

  async #round(isAsked: boolean): Promise<ReloadOutcome> {
    const began = performance.now();
    const isTakenAnyway = (change: Change): boolean =>
      change === 'none' || (change === 'replaced' && performance.now() - began > PATIENCE_MS);
    let seen = await takeSnapshot(this.#sources);
    if (!isAsked && changeBetween(this.#judged, seen) === 'none') return 'unchanged';
    for (;;) {
      const settled = await this.#settle(seen, isTakenAnyway);
      if (settled === undefined) return 'unchanged';
      const attempt = await this.#attempt();
      seen = await takeSnapshot(this.#sources);
      // Something was written while it was being read, or it names files that nobody has looked at yet.
      if (!isTakenAnyway(changeBetween(settled, seen))) continue;
      this.#judged = seen;
      await this.#events.follow(this.#sources);
      return this.#conclude(attempt);
    }
  }

  /** Waits until two looks see the same. Undefined when the watch ends meanwhile. */
  async #settle(first: Snapshot, isTakenAnyway: (change: Change) => boolean): Promise<Snapshot | undefined> {
    let seen = first;
    for (;;) {
      const changed = changedDocuments(this.#judged, seen);
      const isAbrupt = (await Promise.all(changed.map(endsAbruptly))).includes(true);
      if (!(await this.#pause(isAbrupt ? 4 * this.#settleMs : this.#settleMs))) return undefined;
      const next = await takeSnapshot(this.#sources);
      if (isTakenAnyway(changeBetween(seen, next))) return next;
      seen = next;
    }
  }

  async #attempt(): Promise<Attempt> {
    try {
      const loaded = await this.#parts.load(this.#parts.file);
      this.#sources = loaded.sources;
      return { loaded };
    } catch (error) {
      // Repairing any of these may be what makes it load.
      if (error instanceof ConfigError) this.#sources = union(this.#current.sources, error.sources);
      return { error };
    }
  }

  async #conclude(attempt: Attempt): Promise<ReloadOutcome> {
    try {
      if ('error' in attempt) throw attempt.error;
      const { hash, machineHash } = this.#current;
      const isSame = attempt.loaded.hash === hash && attempt.loaded.machineHash === machineHash;
      if (!isSame) await this.#parts.onConfig(attempt.loaded, this.#current);
      this.#current = attempt.loaded;
      if (isSame) this.#parts.onUnchanged?.();
      return isSame ? 'unchanged' : 'changed';
    } catch (error) {
      if (error instanceof ConfigError) this.#parts.onBroken(error);
      else {
        // No change of a file will make up for it, as after an outage of the store: the next look tries again.
        this.#judged = new Map();
        this.#parts.onError(error);
      }
      return 'broken';
    }
  }

  /** False when the watch ended meanwhile. */
  async #pause(milliseconds: number): Promise<boolean> {
    const { signal } = this.#stopped;
    await delay(milliseconds, undefined, { ref: false, signal }).catch(() => undefined);
    return !signal.aborted;
  }
}

function openAnswer(): Answer {
  const waiting: Answer['resolve'][] = [];
  const promise = new Promise<ReloadOutcome>((resolve) => waiting.push(resolve));
  return { promise, resolve: (outcome) => waiting[0]?.(outcome) };
}

function union(left: ConfigSources, right: ConfigSources): ConfigSources {
  return {
    files: [...new Set([...left.files, ...right.files])],
    patterns: [...new Set([...left.patterns, ...right.patterns])],
  };
}
