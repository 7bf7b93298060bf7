// Writes log and audit lines to a file or a stream of the process, in the background and in order, so that a full disk or a slow reader
// delays no request. docs/decisions/operations.md says why pino.destination() isn't used.
import { closeSync, fstatSync, openSync, readSync, write, writeSync } from 'node:fs';
import path from 'node:path';
import { createFolder } from './folder.ts';

const MAX_WAITING_BYTES = 1_048_576;
/** PIPE_BUF: the kernel doesn't split a write of this size, so several processes can share one pipe. */
const MAX_WRITE_BYTES = 4096;
const RETRY_MS = 200;
const CLOSE_WITHIN_MS = 1000;
const NEWLINE = Buffer.from('\n');

export type Writer = { write(line: string): void };

export class Lines implements Writer {
  readonly #to: string | number;
  readonly #onFailed: (error: Error) => void;
  #fd: number;
  #queue: Buffer[] = [];
  /** Taken from the queue and not written yet. */
  #batch = Buffer.alloc(0);
  #isBusy = false;
  #isWriting = false;
  #hasFailed = false;
  #onIdle: () => void = () => undefined;
  waitingBytes = 0;

  /** `to`: a file descriptor, or the path of a file to append to, which only its owner can read. Throws when it can't be opened. */
  constructor(to: string | number, onFailed: (error: Error) => void = () => undefined) {
    this.#to = to;
    this.#onFailed = onFailed;
    this.#fd = open(to);
  }

  /** Queues one line with its newline, or drops it if too many are waiting. Never throws and never waits. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.waitingBytes + bytes.length > MAX_WAITING_BYTES) return;
    this.#queue.push(bytes);
    this.waitingBytes += bytes.length;
    if (!this.#isBusy) this.#writeNext();
  }

  /** Reopens the file by its name, after it was moved. Does nothing for a stream. Throws when it can't be opened. */
  reopen(): void {
    if (typeof this.#to === 'number') return;
    const old = this.#fd;
    this.#fd = open(this.#to);
    // A write under way still uses the old file, however long it takes.
    if (!this.#isWriting) closeSync(old);
  }

  /** Resolves when everything is written (true), or after a second (false). */
  async close(): Promise<boolean> {
    if (this.waitingBytes === 0) return true;
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
    const fd = this.#fd;
    this.#isWriting = true;
    write(fd, this.#batch, (error, written) => {
      this.#isWriting = false;
      if (fd !== this.#fd) closeSync(fd);
      if (error !== null) return this.#retry(error);
      this.#hasFailed = false;
      this.#drop(written);
      this.#writeNext();
    });
  }

  /** Ends a line of a file that a full disk cut off, and writes it again, because another process may write next. */
  #drop(written: number): void {
    const end = this.#batch.lastIndexOf(NEWLINE, written - 1) + 1;
    const isTorn = typeof this.#to === 'string' && end < written;
    this.#batch = this.#batch.subarray(isTorn ? end : written);
    this.waitingBytes -= isTorn ? end : written;
    if (isTorn) this.#batch = Buffer.concat([NEWLINE, this.#batch]);
    if (isTorn) this.waitingBytes += 1;
  }

  /** Whole lines, as many as fit into one write; at least one. */
  #takeBatch(): Buffer<ArrayBuffer> {
    let [bytes, count] = [0, 0];
    for (const { length } of this.#queue) {
      if (count > 0 && bytes + length > MAX_WRITE_BYTES) break;
      bytes += length;
      count += 1;
    }
    return Buffer.concat(this.#queue.splice(0, count));
  }

  #retry(error: NodeJS.ErrnoException): void {
    // EAGAIN: a pipe is full for the moment, which isn't a failure.
    if (error.code !== 'EAGAIN' && !this.#hasFailed) {
      this.#hasFailed = true;
      this.#onFailed(error);
    }
    setTimeout(() => this.#writeNext(), RETRY_MS).unref();
  }
}

function open(to: string | number): number {
  if (typeof to === 'number') return to;
  createFolder(path.dirname(to));
  const fd = openSync(to, 'a+', 0o600);
  // Ends a line that a killed process left unfinished.
  const { size } = fstatSync(fd);
  const last = Buffer.alloc(1);
  const isTorn = size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && !last.equals(NEWLINE);
  try {
    if (isTorn) writeSync(fd, NEWLINE);
  } catch {
    // The disk is still full, so the next line waits for space as well.
  }
  return fd;
}
