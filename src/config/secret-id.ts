// A short public name for a client secret that has none of its own.
import { createHash } from 'node:crypto';
import type { SecretHash } from './config.ts';

/** Twelve hex digits that reveal nothing about the secret, and change only with its hash. */
export function secretId(secret: SecretHash): string {
  const hash = createHash('sha256').update('postern secret id\n');
  hash.update(secret.kind === 'sha256' ? secret.digest : secret.phc);
  return hash.digest('hex').slice(0, 12);
}
