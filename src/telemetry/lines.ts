// Where lines go: a file or one of the process's own streams, in the background and in order, so that a full disk or a
// slow reader never holds up a request. Owns what is lost then; what a line says is log.ts's and audit.ts's.
// pino's own destination isn't used: with a full disk it never returns from its last flush, and with a gone reader it
// goes quiet without a count.
import { closeSync, fstatSync, openSync, mkdirSync, write, writeSync } from 'node:fs';
import path from 'node:path';

/** Kept while nobody takes them. */
const MAX_WAITING_BYTES = 1_048_576;
/** PIPE_BUF: several processes may write into one pipe, and what is written at once up to here is never torn. */
const MAX_PIPE_WRITE_BYTES = 4096;
const MAX_FILE_WRITE_BYTES = 65_536;
const RETRY_MS = 200;
const CLOSE_WITHIN_MS = 1000;

export interface Lines {
  /** One line, with its newline. Never throws and never waits. */
  write(line: string): void;
  /** Opens the file again by its name, after something moved it away. Nothing for a stream. Throws when it can't. */
  reopen(): void;
  /** Of what is not written yet. */
  waitingBytes(): number;
  /** When what waits was written, or after a second. False: some of it was not. */
  close(): Promise<boolean>;
}

export type LinesOptions = {
  /** A file's path, which is appended to and readable by its owner only; or a file descriptor. */
  readonly to: string | number;
  /** Called for each line that nobody will ever read. */
  readonly onLost: () => void;
  /** Called when a write fails and those before it didn't, with the reason, and when one works again, without. */
  readonly onChange?: (error: Error | undefined) => void;
};

/** Throws when the file can't be opened. */
export function openLines(options: LinesOptions): Lines {
  return new LineWriter(options);
}

class LineWriter implements Lines {
  readonly #options: LinesOptions;
  readonly #maxWrite: number;
  #fd: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** What is being written right now. */
  #underWay: Buffer | undefined;
  #retry: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #onIdle: () => void = () => undefined;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#maxWrite = typeof options.to === 'string' ? MAX_FILE_WRITE_BYTES : MAX_PIPE_WRITE_BYTES;
    this.#fd = open(options.to);
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#options.onLost();
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#pump();
  }

  reopen(): void {
    const { to } = this.#options;
    if (typeof to !== 'string') return;
    const old = this.#fd;
    this.#fd = open(to);
    // A write under way ends on the old file.
    setTimeout(() => closeSync(old), CLOSE_WITHIN_MS).unref();
  }

  waitingBytes(): number {
    return this.#waitingBytes + (this.#underWay?.length ?? 0);
  }

  async close(): Promise<boolean> {
    if (this.waitingBytes() === 0) return true;
    let timer: NodeJS.Timeout | undefined;
    const isWritten = await new Promise<boolean>((resolve) => {
      this.#onIdle = () => resolve(true);
      timer = setTimeout(() => resolve(false), CLOSE_WITHIN_MS);
    });
    clearTimeout(timer);
    return isWritten;
  }

  #pump(): void {
    if (this.#underWay !== undefined || this.#retry !== undefined) return;
    const batch = this.#take();
    if (batch === undefined) return this.#onIdle();
    this.#underWay = batch;
    this.#writeOut(batch);
  }

  /** Whole lines, as many as fit into one write; at least one. */
  #take(): Buffer | undefined {
    let bytes = 0;
    let count = 0;
    for (const { length } of this.#waiting) {
      if (count > 0 && bytes + length > this.#maxWrite) break;
      bytes += length;
      count += 1;
    }
    if (count === 0) return undefined;
    this.#waitingBytes -= bytes;
    return Buffer.concat(this.#waiting.splice(0, count));
  }

  #writeOut(rest: Buffer): void {
    try {
      this.#followName();
    } catch (error) {
      return this.#writeLater(rest, error instanceof Error ? error : new Error(String(error)));
    }
    write(this.#fd, rest, (error, written) => {
      if (error !== null) return this.#writeLater(rest, error);
      if (written < rest.length) return this.#writeLater(rest.subarray(written));
      this.#underWay = undefined;
      if (this.#hasFailed) this.#options.onChange?.(undefined);
      this.#hasFailed = false;
      return this.#pump();
    });
  }

  /** A file that was deleted takes every line without an error, and nobody can read them. */
  #followName(): void {
    if (typeof this.#options.to === 'string' && fstatSync(this.#fd).nlink === 0) this.reopen();
  }

  /** The disk is full, or the reader slow or gone: what is left waits, and `write` counts what has no room. */
  #writeLater(left: Buffer, error?: NodeJS.ErrnoException): void {
    // A pipe that is full for the moment is no failure.
    if (error !== undefined && error.code !== 'EAGAIN' && !this.#hasFailed) {
      this.#hasFailed = true;
      this.#options.onChange?.(error);
    }
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#writeOut(left);
    }, RETRY_MS).unref();
  }
}

function open(to: string | number): number {
  if (typeof to === 'number') return to;
  mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 });
  return openSync(to, 'a', 0o600);
}

/** Written before this returns: for the last words of a process, and where nothing runs that could wait. */
export function writeNow(fd: number, line: string): void {
  try {
    writeSync(fd, line);
  } catch {
    // Nobody is there to be told.
  }
}
