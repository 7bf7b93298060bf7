// Watches the configuration files and views of a running service: notices a change, waits until it is complete, and has
// the files read again.
import { type FSWatcher, watch as listen } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** changed: the new content runs now. unchanged: it equals what runs already. broken: nothing was changed. */
export type ReloadOutcome = 'changed' | 'unchanged' | 'broken';

export type WatchedFiles = {
  /** Also those that aren't there. */
  readonly files: readonly string[];
  /** Where more files may appear. */
  readonly folders: readonly string[];
};

export type FileWatchParts = {
  /** Read at each look. */
  readonly list: () => Promise<WatchedFiles>;
  /** When the files were read that are in use now, in epoch milliseconds. */
  readonly readAt: number;
  /** Reads the files, and returns what takes them over. That isn't called where they changed again meanwhile. */
  readonly read: () => Promise<() => Promise<ReloadOutcome>>;
  /** Reading or taking over threw: it is tried again at the next look. */
  readonly onError: (error: unknown) => void;
  /** A file is whole when nothing has happened to it for this long. */
  readonly settleMs?: number | undefined;
};

const SETTLE_MS = 400;
/** Events of one change come in bursts. */
const GATHER_MS = 50;
/** Files that change all the time never settle: after this they are read as they are. */
const PATIENCE_MS = 2000;
/** How often to look without an event: network drives report none. Longer for thousands of files. */
const LOOK_EVERY_MS = 2000;

/** Begins to watch. Resolves when no later change can be missed. */
export async function watchFiles(parts: FileWatchParts): Promise<FileWatch> {
  const watch = new FileWatch(parts);
  await watch.start();
  return watch;
}

export class FileWatch {
  readonly #parts: FileWatchParts;
  readonly #stopped = new AbortController();
  readonly #folders = new Map<string, { readonly identity: string; readonly events: FSWatcher }>();
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
    await this.#follow();
    const seen = await this.#look();
    // They were read before anything was watched. File systems count in ticks of some milliseconds.
    const isOld = [...seen.values()].every(({ changedAt }) => changedAt < this.#parts.readAt - 20);
    if (isOld) this.#known = seen;
    this.#timer = setInterval(() => void this.#wake(), Math.max(LOOK_EVERY_MS, seen.size)).unref();
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
    for (const { events } of this.#folders.values()) events.close();
    await Promise.all([this.#running, this.#next]);
  }

  /** One round runs at a time and at most one is queued, however often this is called. */
  #wake(): Promise<ReloadOutcome> {
    this.#next ??= this.#running.then(() => this.#runNext());
    return this.#next;
  }

  async #runNext(): Promise<ReloadOutcome> {
    if (!(await this.#pause(GATHER_MS))) return 'unchanged';
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
          await this.#follow();
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
    const { files } = await this.#parts.list();
    return new Map(await Promise.all(files.map(async (file) => [file, await markOf(file)] as const)));
  }

  /** Watches folders only: their events name the files in them, and thousands of files need no handle each. */
  async #follow(): Promise<void> {
    const wanted = await foldersOf(await this.#parts.list());
    if (this.#stopped.signal.aborted) return;
    for (const [folder, { identity, events }] of this.#folders) {
      if (wanted.get(folder) === identity) continue;
      events.close();
      this.#folders.delete(folder);
    }
    for (const [folder, identity] of wanted) {
      if (this.#folders.has(folder)) continue;
      try {
        const events = listen(folder, { persistent: false }, () => void this.#wake());
        events.on('error', () => events.close());
        this.#folders.set(folder, { identity, events });
      } catch {
        // It was removed, or there are no handles left: the timer still checks its files.
      }
    }
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
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return { identity: 'absent', state: '', changedAt: 0 };
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
  const text = await readFile(file, 'latin1').catch(() => '\n');
  return !['\n', '}', ']'].includes(text.at(-1) ?? '');
}

/** Where a name may change its meaning, and which folder has that name now. */
async function foldersOf({ files, folders }: WatchedFiles): Promise<Map<string, string>> {
  const targets = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
  const names = new Set([...folders, ...[...files, ...targets].map((file) => dirname(file))]);
  const found = new Map<string, string>();
  for (const name of names) {
    const folder = await stat(name).catch(() => undefined);
    if (folder?.isDirectory()) found.set(name, `${folder.dev} ${folder.ino} ${folder.birthtimeMs}`);
  }
  return found;
}
