// Reads the files that an operator names: regular ones alone, and none for longer than a second.
import { constants, type Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const WITHIN_MS = 900;
const LATE = 'could not be read within a second';

/** `words` say why a file isn't read, and follow its name. */
export class Unreadable extends Error {
  readonly words: string;

  constructor(file: string, words: string) {
    super(`${file} ${words}`);
    this.words = words;
  }
}

/** Of files that don't answer. What else is in there isn't asked: each question holds a thread of Node's pool until the answer. */
const hung = new Set<string>();
let last: Promise<unknown> = Promise.resolve();
let hanging = 0;

/** Whether a thread of the pool still waits. Nothing calls it back, and Node would wait for it at its end. */
export const mayHang = (): boolean => hanging > 0;

export const hungFolders = (): readonly string[] => [...hung];

/** What another thread has found out. */
export function avoid(folders: readonly string[]): void {
  for (const folder of folders) hung.add(folder);
}

/** One after the other, so that a mount that hangs holds one thread of the pool, not all. */
export function statInTime(file: string): Promise<Stats> {
  const asked = last.then(() => ask(resolve(file), file));
  last = asked.catch(() => undefined);
  return asked;
}

async function ask(absolute: string, file: string): Promise<Stats> {
  const folder = dirname(absolute);
  if (hungFolders().some((one) => `${folder}/`.startsWith(`${one}/`))) throw new Unreadable(file, LATE);
  const found = stat(file);
  return inTime(file, found).catch((error: unknown) => {
    if (error instanceof Unreadable) hung.add(folder);
    const back = () => hung.delete(folder);
    found.then(back, back);
    throw error;
  });
}

export async function statRegular(file: string): Promise<Stats> {
  const found = await statInTime(file);
  if (found.isFile()) return found;
  throw new Unreadable(
    file,
    found.isDirectory() ? 'is a folder, not a file' : 'is a pipe, a device or a socket, not a file',
  );
}

/** After `statRegular`. A pipe that has taken the place of the file since is opened without waiting. */
export const readInTime = (file: string): Promise<Buffer> =>
  inTime(file, readFile(file, { flag: constants.O_RDONLY | constants.O_NONBLOCK }));

async function inTime<T>(file: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  // An answer that came while this thread was busy counts first.
  const timer = setTimeout(() => setImmediate(fail), WITHIN_MS);
  function fail(): void {
    hanging += 1;
    const back = () => (hanging -= 1);
    work.then(back, back);
    late.reject(new Unreadable(file, LATE));
  }
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
