// The encryption and cookie keys: reads their references, rejects weak keys, and generates missing keys once, in the data folder, for
// a first try on one machine.
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { createFile, createFolder } from '../observability/folder.ts';
import type { StoreConfig } from './config.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';
import { readSecret, resolveReference, type SecretContext, type SecretFiles } from './secret-reference.ts';
import { weakness } from './secret-strength.ts';

/** `needs`: what a key must be. `file`: where a generated one is kept. */
const KEYS = {
  encryption_keys: { needs: '32 random bytes, base64url', file: 'encryption.key' },
  cookie_keys: { needs: 'at least 32 random characters', file: 'cookie.key' },
} as const;
export type KeyName = keyof typeof KEYS;
export const KEY_NAMES = Object.keys(KEYS) as readonly KeyName[];

/** Resolves the configured keys, and reports their faults. Empty if none are configured. `others`: keys for another purpose. */
export async function resolveKeys(
  service: Entry<ServiceForm>,
  name: KeyName,
  context: SecretContext,
  others: readonly string[] = [],
): Promise<string[]> {
  const references = service.value[name];
  if (references.length === 0 && !context.issuerIsLoopback) {
    const message = `is required unless the issuer is on localhost: ${KEYS[name].needs}, as env:NAME or file:PATH`;
    service.report([name], message);
  }
  const keys: string[] = [];
  const bytesOf = (key: string) => Buffer.from(key, name === 'encryption_keys' ? 'base64url' : 'utf8');
  for (const [index, reference] of references.entries()) {
    const at = [name, index];
    const key = await readSecret(service, [at, reference], context);
    if (key === undefined) continue;
    const fault = keyFault(name, key);
    if (fault) service.report(at, fault);
    const isSame = (earlier: string) => bytesOf(earlier).equals(bytesOf(key));
    if (keys.some(isSame)) service.report(at, 'is the same key as an earlier one: remove it');
    const isOther = (other: string) => Buffer.from(other, 'base64url').equals(Buffer.from(key, 'base64url'));
    if (others.some(isOther)) service.report(at, 'is also an encryption key: use another value');
    keys.push(key);
  }
  return keys;
}

function keyFault(name: KeyName, key: string): string | undefined {
  if (name === 'encryption_keys' && !/^[A-Za-z0-9_-]{43}=?$/.test(key))
    return 'the key must be 32 bytes, base64url (43 characters)';
  const weak = weakness(key);
  return weak && `the key ${weak}`;
}

/** The folder of this installation's data on this machine. */
export const dataFolder = (store: StoreConfig, configFolder: string) =>
  store.engine === 'lmdb' ? store.folder : join(configFolder, '..', 'data');

type KeyTarget = Readonly<{
  folder: string;
  /** false writes nothing to disk: a missing key is generated only in memory. */
  write: boolean;
  secretFiles: SecretFiles;
}>;

/** The form of a generated key: 32 random bytes, base64url. */
const GENERATED = /^[A-Za-z0-9_-]{43}$/;

/** Resolves one key for each of `names`: the existing one, or a new one with a notice. Safe if many processes start at once. */
export async function generateKeys(names: readonly KeyName[], { folder, write, secretFiles }: KeyTarget) {
  const keys: Partial<Record<KeyName, readonly string[]>> = {};
  const notices: string[] = [];
  for (const name of names) {
    const file = join(folder, KEYS[name].file);
    let value = await readKey(file, secretFiles);
    if (value === undefined && write) {
      createFolder(folder);
      const isNew = await publish(file, newKey());
      if (isNew) notices.push(`${name}: generated ${file}. Back it up, in another place than the data.`);
      value = await readKey(file, secretFiles);
      if (value === undefined) throw new Error(`${file} disappeared while it was being created: start again`);
    }
    keys[name] = [value ?? newKey()];
  }
  return { keys, notices };
}

export const newKey = () => randomBytes(32).toString('base64url');

async function readKey(file: string, secretFiles: SecretFiles): Promise<string | undefined> {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  const key = await resolveReference(`file:${file}`, '', { secretFiles });
  // Never replaced: data that this key encrypted would be lost.
  if (!GENERATED.test(key)) throw new Error(`${file} does not contain a key: restore it from a backup`);
  return key;
}

/** Writes a draft and links it to `file`, so that no process reads half a key. Resolves false if another process was first. */
async function publish(file: string, value: string): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await createFile(draft, `${value}\n`);
    await link(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
