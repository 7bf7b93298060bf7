// Creates the folders of data, keys, logs and email, and files in them.
import { existsSync, mkdirSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Creates a folder and its parents, without `recursive`: with it, Node never returns below /proc. Throws an error for the administrator. */
export function createFolder(folder: string, mode = 0o700): void {
  // `.` may be unreadable.
  if (existsSync(folder) || folder === '.') return;
  createFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    // Another process was first.
    if (code === 'EEXIST') return;
    const message = `the folder ${folder} can't be created (${code}): correct the path or its permissions`;
    throw new Error(message, { cause });
  }
}

/** Creates a file for the owner of its folder: a command that root runs must not lock the service out. Throws the system's error. */
export async function createFile(path: string, content = ''): Promise<void> {
  const { uid, gid } = await stat(dirname(path));
  const file = await open(path, 'wx', 0o600);
  try {
    if (process.getuid?.() === 0) await file.chown(uid, gid);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}
