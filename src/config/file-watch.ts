// Watches the configuration files of a running service, and the views of a preview: notices a change, waits until it is complete, and has
// the files read again. By looking alone: network drives and many mounts of containers report no events.
import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { readRegular, statRegular } from './regular-file.ts';

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
    let seen = await this.#look();
    if (!isForced && isDeepStrictEqual(seen, this.#known)) return 'unchanged';
    while (await this.#pause(await this.#settleTime(seen))) {
      const before = seen;
      seen = await this.#look();
      if (!isDeepStrictEqual(seen, before)) continue;
      const takeOver = await this.#parts.read();
      const after = await this.#look();
      // Otherwise something was written while it was read, or it names files that nothing has looked at yet.
      if (isDeepStrictEqual(after, seen)) {
        this.#known = seen;
        return takeOver();
      }
      seen = after;
    }
    return 'unchanged';
  }

  async #settleTime(seen: Snapshot): Promise<number> {
    const changed = [...seen].filter(([name, mark]) => !isDeepStrictEqual(mark, this.#known.get(name)));
    const isAbrupt = await Promise.all(changed.map(([name]) => endsAbruptly(name)));
    const { settleMs = SETTLE_MS } = this.#parts;
    return isAbrupt.includes(true) ? 4 * settleMs : settleMs;
  }

  async #look(): Promise<Snapshot> {
    const seen = new Map<string, Mark>();
    // One after the other, so that a mount that hangs holds one thread of Node's pool, not all.
    for (const file of await this.#parts.list()) seen.set(file, await markOf(file));
    return seen;
  }

  /** False when the watch ended meanwhile. */
  async #pause(milliseconds: number): Promise<boolean> {
    const { signal } = this.#stopped;
    await delay(milliseconds, undefined, { ref: false, signal }).catch(() => undefined);
    return !signal.aborted;
  }
}

/** What was last done to a file, and when. */
type Mark = { readonly state: string; readonly changedAt: number };
type Snapshot = ReadonlyMap<string, Mark>;

async function markOf(file: string): Promise<Mark> {
  try {
    // Follows links: when a mounted folder is swapped, its names lead to other files.
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file);
    return { state: `${dev} ${ino} ${size} ${mtimeMs}`, changedAt: ctimeMs };
  } catch {
    return { state: 'absent', changedAt: 0 };
  }
}

/** Whether a document stops in the middle of a line. Few finished ones do, and many that are being written. */
async function endsAbruptly(file: string): Promise<boolean> {
  if (!/\.(ya?ml|json)$/.test(file)) return false;
  const read = statRegular(file).then(() => readRegular(file));
  const text = await read.then(String, () => '\n');
  return !['\n', '}', ']'].includes(text.at(-1) ?? '');
}
