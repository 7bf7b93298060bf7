// Reads the files that an operator names: regular ones alone, because a pipe or a device may never end, and none that are too large.
import { constants } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** Its message says why a file isn't read, and follows the name of the file. */
class Unread extends Error {}

/** The content of a file of at most `largest` KiB, and its mode. */
export async function readRegular(file: string, largest: number) {
  // Looked at first, so that a file of any size is refused at once.
  const found = await stat(file);
  if (found.isDirectory()) throw new Unread('is a folder, not a file');
  if (!found.isFile()) throw new Unread('is a pipe, a device or a socket, not a file');
  if (found.size > largest * 1024) throw new Unread(`is too large: the limit is ${largest} KiB`);
  // A pipe that has taken the place of the file since is opened without waiting.
  const content = await readFile(file, { flag: constants.O_RDONLY | constants.O_NONBLOCK });
  return { content, mode: found.mode };
}

/** Why a file can't be read, in plain words. */
export function readFault(error: unknown): string {
  if (error instanceof Unread) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return "can't be read: check its owner and permissions";
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    ? 'is not UTF-8 text'
    : `can't be read (${String(code)})`;
}
