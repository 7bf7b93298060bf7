// Where data is kept: reads the `store` key.
import { resolve } from 'node:path';
import type { StoreConfig } from './config.ts';
import { parseRedisUrl, RedisUrlError } from './redis-url.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';
import { isReference, resolveReference, type SecretContext } from './secret-reference.ts';

/** The store, or undefined after its problem was reported. No message repeats the URL: it may hold a password. */
export async function resolveStore(
  service: Entry<ServiceForm>,
  context: SecretContext,
): Promise<StoreConfig | undefined> {
  const location = service.value.store;
  // Only to be compared: this is never opened.
  if (context.readSecrets === false && isReference(location)) return { engine: 'redis', url: location };
  const resolved = await resolveReference(location, service.folder, context);
  if (resolved.kind === 'fault') {
    service.report(['store'], resolved.message);
    return undefined;
  }
  const fault = storeFault(resolved.value);
  if (fault !== undefined) {
    service.report(['store'], fault);
    return undefined;
  }
  if (resolved.value.startsWith('lmdb:')) {
    return { engine: 'lmdb', folder: resolve(service.folder, resolved.value.slice('lmdb:'.length)) };
  }
  if (resolved.isPlain && !context.issuerIsLoopback && hasPassword(resolved.value)) {
    service.report(['store'], 'has a password in plain text: put the URL in env:NAME or file:PATH');
  }
  return { engine: 'redis', url: resolved.value };
}

function storeFault(location: string): string | undefined {
  if (location.startsWith('lmdb:'))
    return location === 'lmdb:' ? 'lmdb: must be followed by a folder' : undefined;
  try {
    parseRedisUrl(location);
    return undefined;
  } catch (error) {
    if (error instanceof RedisUrlError) return error.message;
    throw error;
  }
}

export function hasPassword(url: string): boolean {
  const { password, sentinelPassword } = parseRedisUrl(url);
  return (password ?? sentinelPassword ?? '') !== '';
}
