// Reads the `store` key, which says where data is stored.
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { StoreConfig } from './config.ts';
import { parseRedisUrl, RedisUrlError } from './redis-url.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';
import { isReference, ReferenceFault, resolveReference, type SecretContext } from './secret-reference.ts';

/** Resolves the store, or undefined after reporting its problem. No message repeats the URL, which may contain a password. */
export async function resolveStore(
  service: Entry<ServiceForm>,
  context: SecretContext,
): Promise<StoreConfig | undefined> {
  const location = service.value.store;
  // Only for comparison: this store is never opened.
  if (context.readSecrets === false && isReference(location)) return { engine: 'redis', url: location };
  try {
    const value = await resolveReference(location, service.folder, context);
    if (value === 'lmdb:') throw new RedisUrlError('lmdb: must be followed by a folder');
    if (value.startsWith('lmdb:')) {
      const folder = resolve(service.folder, value.slice('lmdb:'.length));
      for (const fault of await openFolderFaults(folder, context)) service.report(['store'], fault);
      return { engine: 'lmdb', folder };
    }
    if (hasPassword(value) && !isReference(location) && !context.issuerIsLoopback)
      service.report(['store'], 'contains a password: use env:NAME or file:PATH');
    return { engine: 'redis', url: value };
  } catch (error) {
    if (!(error instanceof RedisUrlError || error instanceof ReferenceFault)) throw error;
    service.report(['store'], error.message);
    return undefined;
  }
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

/** Throws RedisUrlError. */
export function hasPassword(url: string): boolean {
  const { password, sentinelPassword } = parseRedisUrl(url);
  return (password ?? sentinelPassword ?? '') !== '';
}
