// Recovery codes: 120 random bits each, shown once, stored as keyed hashes bound to the user. From 112 bits on, they can't be
// guessed, however fast the hash is (OWASP ASVS 6.5.2).
import { randomInt } from 'node:crypto';
import type { KeyedHash } from '../../store/keyed-hash.ts';

/** Crockford's base32: without I, L, O and U. */
const SIGNS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns a code such as `7K2M-9XQT-…`, six groups of four. */
export function newRecoveryCode(): string {
  const signs = Array.from({ length: 24 }, () => SIGNS.charAt(randomInt(SIGNS.length)));
  return signs.join('').replaceAll(/.{4}(?=.)/g, '$&-');
}

/** The hash that is stored. Ignores case, spaces and hyphens, and accepts letters that look like digits. */
export function recoveryCodeHash(hash: KeyedHash, accountId: string, typed: string): string {
  const code = typed
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[\s\p{Pd}]/gu, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  return hash(`recovery code:${accountId}:${code}`);
}
