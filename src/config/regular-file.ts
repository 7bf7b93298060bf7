// Reads the files that an operator names: regular ones alone, because a pipe or a device may never end.
import { constants, type Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** Its message says why a file isn't read, and follows the name of the file. */
export class NotRegular extends Error {}

export async function statRegular(file: string): Promise<Stats> {
  const found = await stat(file);
  if (found.isFile()) return found;
  throw new NotRegular(
    found.isDirectory() ? 'is a folder, not a file' : 'is a pipe, a device or a socket, not a file',
  );
}

/** After `statRegular`. A pipe that has taken the place of the file since is opened without waiting. */
export const readRegular = (file: string): Promise<Buffer> =>
  readFile(file, { flag: constants.O_RDONLY | constants.O_NONBLOCK });
