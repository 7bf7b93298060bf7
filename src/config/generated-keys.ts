// Makes the encryption and cookie keys of a first try on one machine, once, in the data folder.
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openFileFault, type SecretFiles } from './secret-reference.ts';

export type GeneratedKey = {
  readonly value: string;
  readonly file: string;
  /** Whether this call made it; otherwise it was there. */
  readonly isNew: boolean;
};

/** What a generated key is: 32 random bytes, base64url. */
const KEY = /^[A-Za-z0-9_-]{43}$/;

/** The key called `name` in `folder`: the one that is there, or a new one. Safe when many processes start at once. */
export async function loadOrCreateKey(
  folder: string,
  name: string,
  secretFiles: SecretFiles,
): Promise<GeneratedKey> {
  const file = join(folder, name);
  const existing = await readKey(file, secretFiles);
  if (existing !== undefined) return { value: existing, file, isNew: false };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const isNew = await publish(file, randomBytes(32).toString('base64url'));
  const value = await readKey(file, secretFiles);
  if (value === undefined) throw new Error(`${file} disappeared while it was being made`);
  return { value, file, isNew };
}

/** The key called `name` in `folder`, or a passing one that is written nowhere: for looking without touching. */
export async function peekKey(folder: string, name: string, secretFiles: SecretFiles): Promise<string> {
  return (await readKey(join(folder, name), secretFiles)) ?? randomBytes(32).toString('base64url');
}

async function readKey(file: string, secretFiles: SecretFiles): Promise<string | undefined> {
  try {
    const fault = secretFiles === 'private' ? openFileFault(file, (await stat(file)).mode) : undefined;
    if (fault !== undefined) throw new Error(fault);
    const value = (await readFile(file, 'utf8')).trim();
    // Never replaced: what this key encrypted would be lost.
    if (!KEY.test(value)) throw new Error(`${file} does not hold a key; restore it from a backup`);
    return value;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Writes beside `file`, then gives it its name: no process ever reads half a key, and the first one wins. */
async function publish(file: string, value: string): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${value}\n`);
    await handle.sync();
    await handle.close();
    await link(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(draft);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
