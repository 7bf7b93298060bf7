// Watches the configuration files and views of a running service: notices a change, waits until it is complete, and has
// the files read again. By looking alone: network drives and many mounts of containers report no events.
import { setTimeout as delay } from 'node:timers/promises';
import { readInTime, statInTime, statRegular, Unreadable } from './regular-file.ts';

/** changed: the new content runs now. unchanged: it equals what runs already. broken: nothing was changed. */
export type ReloadOutcome = 'changed' | 'unchanged' | 'broken';

type FileWatchParts = Readonly<{
  /** The files, also those that aren't there. Asked at each look. */
  list: () => Promise<readonly string[]>;
  /** When the files were read that are in use now, in epoch milliseconds. */
  readAt: number;
  /** Reads the files, and returns what takes them over. That isn't called where they changed again meanwhile. */
  read: () => Promise<() => Promise<ReloadOutcome>>;
  /** Reading or taking over threw: it is tried again at the next look. */
  onError: (error: unknown) => void;
  /** A file is whole when nothing has happened to it for this long. */
  settleMs?: number | undefined;
}>;

const SETTLE_MS = 400;
/** Files that change all the time never settle: after this they are read as they are. */
const PATIENCE_MS = 2000;
/** A millisecond for each file, within these bounds: a look at thousands of them takes a while. */
const LOOK_EVERY_MS = { least: 1000, most: 3000 };

/** Begins to watch. Resolves when no later change can be missed. */
export async function watchFiles(parts: FileWatchParts): Promise<FileWatch> {
  const watch = new FileWatch(parts);
  await watch.start();
  return watch;
}

export class FileWatch {
  readonly #parts: FileWatchParts;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** The state of the files before they were last read. */
  #known: Snapshot = new Map();
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<ReloadOutcome> | undefined;
  #isForced = false;

  constructor(parts: FileWatchParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const seen = await this.#look();
    // They were read before anything was watched. File systems count in ticks of some milliseconds.
    const isOld = [...seen.values()].every(({ changedAt }) => changedAt < this.#parts.readAt - 20);
    if (isOld) this.#known = seen;
    const everyMs = Math.min(Math.max(LOOK_EVERY_MS.least, seen.size), LOOK_EVERY_MS.most);
    this.#timer = setInterval(() => void this.#wake(), everyMs).unref();
    void this.#wake();
  }

  /** Reads now, also when nothing seems to have changed (SIGHUP). Calls that come meanwhile share one answer. */
  reload(): Promise<ReloadOutcome> {
    this.#isForced = true;
    return this.#wake();
  }

  /** Resolves when nothing is running any more. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await Promise.all([this.#running, this.#next]);
  }

  /** One round runs at a time and at most one is queued, however often this is called. */
  #wake(): Promise<ReloadOutcome> {
    this.#next ??= this.#running.then(() => this.#runNext());
    return this.#next;
  }

  async #runNext(): Promise<ReloadOutcome> {
    this.#running = this.#next ?? this.#running;
    this.#next = undefined;
    const isForced = this.#isForced;
    this.#isForced = false;
    try {
      return await this.#round(isForced);
    } catch (error) {
      // So that the next look tries again: no file changes when, for example, an outage of the store ends.
      this.#known = new Map();
      this.#parts.onError(error);
      return 'broken';
    }
  }

  async #round(isForced: boolean): Promise<ReloadOutcome> {
    const began = performance.now();
    let seen = await this.#look();
    const isKnown = seen.size === this.#known.size && isSame(this.#known, seen);
    if (isKnown && !isForced) return 'unchanged';
    while (await this.#pause(await this.#settleTime(seen))) {
      const mayBeReplaced = performance.now() - began > PATIENCE_MS;
      const settled = await this.#look();
      if (isSame(seen, settled, mayBeReplaced)) {
        const takeOver = await this.#parts.read();
        seen = await this.#look();
        // Otherwise something was written while it was read, or it names files that nothing has looked at yet.
        if (isSame(settled, seen, mayBeReplaced)) {
          // What came in the place of a file while it was read is still to be read.
          this.#known = isSame(settled, seen) ? seen : settled;
          return takeOver();
        }
      } else {
        seen = settled;
      }
    }
    return 'unchanged';
  }

  async #settleTime(seen: Snapshot): Promise<number> {
    const changed = [...seen].filter((entry) => !isSame(this.#known, new Map([entry])));
    const isAbrupt = await Promise.all(changed.map(([name]) => endsAbruptly(name)));
    const { settleMs = SETTLE_MS } = this.#parts;
    return isAbrupt.includes(true) ? 4 * settleMs : settleMs;
  }

  async #look(): Promise<Snapshot> {
    const files = await this.#parts.list();
    return new Map(await Promise.all(files.map(async (file) => [file, await markOf(file)] as const)));
  }

  /** False when the watch ended meanwhile. */
  async #pause(milliseconds: number): Promise<boolean> {
    const { signal } = this.#stopped;
    await delay(milliseconds, undefined, { ref: false, signal }).catch(() => undefined);
    return !signal.aborted;
  }
}

/** `identity` says which file it is, `state` what was last done to it. */
type Mark = { readonly identity: string; readonly state: string; readonly changedAt: number };
type Snapshot = ReadonlyMap<string, Mark>;

async function markOf(file: string): Promise<Mark> {
  // Follows links: when a mounted folder is swapped, its names lead to other files.
  const found = await statInTime(file).catch((error: unknown) =>
    error instanceof Unreadable ? 'late' : 'absent',
  );
  if (typeof found === 'string') return { identity: found, state: '', changedAt: 0 };
  const { dev, ino, birthtimeMs, size, mtimeMs, ctimeMs } = found;
  return {
    identity: `${dev} ${ino} ${birthtimeMs}`,
    state: `${size} ${mtimeMs} ${ctimeMs}`,
    changedAt: ctimeMs,
  };
}

/** Whether `after` shows nothing new. What came in the place of another file is whole as it came, unlike what was written to. */
function isSame(before: Snapshot, after: Snapshot, mayBeReplaced = false): boolean {
  return [...after].every(([name, { identity, state }]) => {
    const old = before.get(name);
    return old?.identity === identity ? old.state === state : mayBeReplaced;
  });
}

/** Whether a document stops in the middle of a line. Few finished ones do, and many that are being written. */
async function endsAbruptly(file: string): Promise<boolean> {
  if (!/\.(ya?ml|json)$/.test(file)) return false;
  const read = statRegular(file).then(() => readInTime(file));
  const text = await read.then(String, () => '\n');
  return !['\n', '}', ']'].includes(text.at(-1) ?? '');
}
