// Writes log and audit lines to a file or to one of the process's own streams, in the background and in order, so that
// a full disk or a slow reader never holds up a request.
// pino.destination() isn't used: with a full disk or a full pipe the process wouldn't end, because it retries forever on
// exit, and after EPIPE it drops lines without its drop event.
import { closeSync, fstatSync, openSync, mkdirSync, write } from 'node:fs';
import path from 'node:path';

const MAX_WAITING_BYTES = 1_048_576;
/** PIPE_BUF: the kernel doesn't split a write of this size, so several processes can share one pipe. */
const MAX_PIPE_WRITE_BYTES = 4096;
const MAX_FILE_WRITE_BYTES = 65_536;
const RETRY_MS = 200;
const CLOSE_WITHIN_MS = 1000;

type LinesOptions = {
  /** A file's path, which is appended to and readable by its owner only; or a file descriptor. */
  readonly to: string | number;
  /** Called for each line that is dropped because too many wait. */
  readonly onLost: () => void;
  /** Called with the error when a write fails after one that worked, and without it when writing works again. */
  readonly onChange?: (error: Error | undefined) => void;
};

export class Lines {
  readonly #options: LinesOptions;
  #fd: number;
  #queue: Buffer[] = [];
  /** Taken from the queue and not written yet. */
  #batch = Buffer.alloc(0);
  #waitingBytes = 0;
  #isBusy = false;
  #hasFailed = false;
  #onIdle: () => void = () => undefined;

  /** Throws when the file can't be opened. */
  constructor(options: LinesOptions) {
    this.#options = options;
    this.#fd = open(options.to);
  }

  /** Takes one line with its newline. Never throws and never waits. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) return this.#options.onLost();
    this.#queue.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.#isBusy) this.#writeNext();
  }

  waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Opens the file again by its name, after it was moved. Does nothing for a stream. Throws when it can't. */
  reopen(): void {
    const { to } = this.#options;
    if (typeof to !== 'string') return;
    const old = this.#fd;
    this.#fd = open(to);
    // A write under way still uses the old file.
    setTimeout(() => closeSync(old), CLOSE_WITHIN_MS).unref();
  }

  /** Resolves when everything is written (true), or after a second (false). */
  async close(): Promise<boolean> {
    if (this.#waitingBytes === 0) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), CLOSE_WITHIN_MS);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #writeNext(): void {
    if (this.#batch.length === 0) this.#batch = this.#takeBatch();
    this.#isBusy = this.#batch.length > 0;
    if (!this.#isBusy) return this.#onIdle();
    try {
      // Writing to a deleted file works, but the lines would be lost.
      if (typeof this.#options.to === 'string' && fstatSync(this.#fd).nlink === 0) this.reopen();
    } catch (error) {
      return this.#retry(error instanceof Error ? error : new Error(String(error)));
    }
    write(this.#fd, this.#batch, (error, written) => {
      if (error !== null) return this.#retry(error);
      this.#batch = this.#batch.subarray(written);
      this.#waitingBytes -= written;
      if (this.#batch.length === 0) this.#recover();
      this.#writeNext();
    });
  }

  /** Whole lines, as many as fit into one write; at least one. */
  #takeBatch(): Buffer<ArrayBuffer> {
    const maxBytes = typeof this.#options.to === 'string' ? MAX_FILE_WRITE_BYTES : MAX_PIPE_WRITE_BYTES;
    let bytes = 0;
    let count = 0;
    for (const { length } of this.#queue) {
      if (count > 0 && bytes + length > maxBytes) break;
      bytes += length;
      count += 1;
    }
    return Buffer.concat(this.#queue.splice(0, count));
  }

  #recover(): void {
    if (this.#hasFailed) this.#options.onChange?.(undefined);
    this.#hasFailed = false;
  }

  #retry(error: NodeJS.ErrnoException): void {
    // EAGAIN: a pipe is full for the moment, which isn't a failure.
    if (error.code !== 'EAGAIN' && !this.#hasFailed) {
      this.#hasFailed = true;
      this.#options.onChange?.(error);
    }
    setTimeout(() => this.#writeNext(), RETRY_MS).unref();
  }
}

function open(to: string | number): number {
  if (typeof to === 'number') return to;
  mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 });
  return openSync(to, 'a', 0o600);
}
