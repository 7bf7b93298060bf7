// The configured encryption and cookie keys: reads references and refuses weak ones. Missing ones: generated-keys.ts.
import { join } from 'node:path';
import type { StoreConfig } from './config.ts';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';
import { resolveReference, type Resolved, type SecretContext } from './secret-reference.ts';
import { weakness } from './secret-strength.ts';

export const KEY_NAMES = ['encryption_keys', 'cookie_keys'] as const;
export type KeyName = (typeof KEY_NAMES)[number];

const REQUIRED: Readonly<Record<KeyName, string>> = {
  encryption_keys:
    'is required unless the issuer is this machine: 32 random bytes, base64url, as env:NAME or file:PATH',
  cookie_keys:
    'is required unless the issuer is this machine: at least 32 random characters, as env:NAME or file:PATH',
};

/** The configured keys; what is wrong with them is reported. Empty when none are configured. */
export async function resolveKeys(
  service: Entry<ServiceForm>,
  name: KeyName,
  { issuerIsLoopback, ...source }: SecretContext,
): Promise<string[]> {
  const references = service.value[name];
  if (references?.length === 0 && !issuerIsLoopback) service.report([name], REQUIRED[name]);
  const keys: string[] = [];
  for (const [index, reference] of (references ?? []).entries()) {
    const resolved = await resolveReference(reference, { ...source, folder: service.folder });
    const fault = keyFault(name, resolved, issuerIsLoopback);
    if (fault !== undefined) service.report([name, index], fault);
    if (resolved.kind === 'value') keys.push(resolved.value);
  }
  return keys;
}

function keyFault(name: KeyName, resolved: Resolved, issuerIsLoopback: boolean): string | undefined {
  if (resolved.kind === 'fault') return resolved.message;
  if (name === 'encryption_keys' && !/^[A-Za-z0-9_-]{43}=?$/.test(resolved.value)) {
    return 'the key must be 32 bytes, base64url (43 characters)';
  }
  const weak = weakness(resolved.value);
  if (weak !== undefined) return `the key ${weak}`;
  return resolved.isPlain && !issuerIsLoopback
    ? 'plain text is only for an issuer on this machine: use env:NAME or file:PATH'
    : undefined;
}

/** Where data of this installation is kept on this machine. */
export function dataFolder(store: StoreConfig, configFolder: string): string {
  return store.engine === 'lmdb' ? store.folder : join(configFolder, '..', 'data');
}
