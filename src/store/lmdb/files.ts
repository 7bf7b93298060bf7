// Checks of the two files of an LMDB folder that LMDB omits. On a lock file that it can't open, or a data file that is
// something else, lmdb 3.5.6 doesn't throw: it crashes the process with a segmentation fault.
import { randomUUID } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile, createFolder } from '../../observability/folder.ts';
import { StoreTakesNoWrites, StoreUnfit } from '../store.ts';

export const DATA_FILE = 'data.mdb';
const LOCK_FILE = 'lock.mdb';
/** More than one request stores. Free pages inside LMDB's file don't show whether the disk is full. */
const ROOM_BYTES = 65_536;
/** In the first page, after its header. */
const MAGIC = { at: 24, value: 0xbeefc0de };

/** Creates missing files. Rejects with one line for the administrator where LMDB would crash the process. */
export async function prepareFiles(folder: string): Promise<void> {
  createFolder(folder);
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const name of [DATA_FILE, LOCK_FILE]) await prepareFile(folder, name);
  await readState(folder);
}

async function prepareFile(folder: string, name: string): Promise<void> {
  const path = join(folder, name);
  if (existsSync(path)) return access(path, constants.R_OK | constants.W_OK);
  // LMDB maps the lock file into memory. If the disk has no room for a page of it, the process crashes.
  await fillRoom(folder);
  try {
    await createFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    // Another process was first, or it is a link to a file that doesn't exist: root must not create that for the owner of the folder.
    await access(path, constants.R_OK | constants.W_OK);
  }
}

/** Writes a file and removes it. Rejects with the disk's own error when it is full. */
async function fillRoom(folder: string): Promise<void> {
  const path = join(folder, `room-${randomUUID()}`);
  const file = await open(path, 'wx', 0o600);
  try {
    await rm(path, { force: true });
    await file.writeFile(Buffer.alloc(ROOM_BYTES));
  } finally {
    await file.close();
  }
}

/** Rejects with StoreTakesNoWrites. */
export async function assertRoom(folder: string): Promise<void> {
  await fillRoom(folder).catch((cause: unknown) => {
    throw new StoreTakesNoWrites(toReason(cause), { cause });
  });
}

/** Returns the message of the system or LMDB, without a path or page numbers. */
export function toReason(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  const isOfNode = /^[A-Z0-9]+: ([^,]+), /.exec(line)?.[1];
  const reason = isOfNode ?? line.replace(/: Attempting to write .*/, '');
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

/**
 * Call it right after LMDB has opened the folder. Resolves with a check that rejects with StoreUnfit when the folder's files are
 * no longer those that this process has open.
 */
export async function watchDataFiles(folder: string): Promise<() => Promise<void>> {
  const opened = await readState(folder);
  return async () => {
    const found = await readState(folder).catch((cause: unknown) => {
      throw new StoreUnfit(toProblem(cause), { cause });
    });
    if (found !== opened) throw new StoreUnfit(REPLACED);
  };
}

const REPLACED = "the store's file was replaced: restart";

function toProblem(cause: unknown): string {
  if (!(cause instanceof Error && 'code' in cause)) return REPLACED;
  return cause.code === 'ENOENT'
    ? "the store's file is gone: restore a backup, then restart"
    : `the store's file can't be read: ${toReason(cause)}`;
}

/** Rejects if the files aren't a store. An empty file is a store that is being created. */
async function readState(folder: string): Promise<string> {
  const lock = await stat(join(folder, LOCK_FILE)).catch(() => undefined);
  const file = await open(join(folder, DATA_FILE), 'r');
  try {
    const { dev, ino, size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, MAGIC.at);
    if (size > 0 && (bytesRead < 4 || buffer.readUInt32LE() !== MAGIC.value))
      throw new Error('data.mdb is not a store');
    return `${dev}:${ino} ${lock?.dev}:${lock?.ino}`;
  } finally {
    await file.close();
  }
}
