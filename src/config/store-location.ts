// Reads the `store` key, which says where data is stored.
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { StoreConfig } from './config.ts';
import { ValueFault } from './problems.ts';
import { parseRedisUrl } from './redis-url.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';
import { isReference, resolveReference, type SecretContext } from './secret-reference.ts';

/** Resolves the store. No message repeats the URL, which may contain a password. Throws ValueFault. */
export async function resolveStore(
  { value: { store: location }, folder: start, report }: Entry<ServiceForm>,
  context: SecretContext,
): Promise<StoreConfig> {
  // Only for comparison: this store is never opened.
  if (context.readSecrets === false && isReference(location)) return { engine: 'redis', url: location };
  const value = await resolveReference(location, start, context);
  if (value === 'lmdb:') throw new ValueFault('lmdb: must be followed by a folder');
  if (value.startsWith('lmdb:')) {
    const folder = resolve(start, value.slice('lmdb:'.length));
    for (const fault of await openFolderFaults(folder, context)) report(['store'], fault);
    return { engine: 'lmdb', folder };
  }
  if (hasPassword(value) && !isReference(location) && !context.issuerIsLoopback)
    throw new ValueFault('contains a password: use env:NAME or file:PATH');
  return { engine: 'redis', url: value };
}

/** Checks the files that exist. A group may write, because Kubernetes mounts volumes that way. */
async function openFolderFaults(folder: string, { secretFiles, readSecrets }: SecretContext) {
  if (secretFiles === 'any_mode' || readSecrets === false || process.platform === 'win32') return [];
  const faults: string[] = [];
  for (const path of [folder, join(folder, 'data.mdb'), join(folder, 'lock.mdb')]) {
    const { mode } = await stat(path).catch(() => ({ mode: 0 }));
    if (mode & 0o002) faults.push(`all users can write to ${path}: run chmod o-w ${path}`);
  }
  return faults;
}

/** Throws ValueFault. */
export function hasPassword(url: string): boolean {
  const { password, sentinelPassword } = parseRedisUrl(url);
  return (password ?? sentinelPassword ?? '') !== '';
}
