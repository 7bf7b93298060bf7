// Recovery codes: 120 random bits each, shown once, kept as keyed hashes bound to the user. From 112 bits on nobody guesses them,
// however fast the hash is (OWASP ASVS 6.5.2).
import type { KeyedHash } from '../store/keyed-hash.ts';

const BYTES = 15;
/** Crockford's base32: without I, L, O and U. */
const SIGNS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const SIGN_BITS = 5;
const GROUP = 4;

/** As `7K2M-9XQT-…`, six groups of four. */
export function newRecoveryCode(random: (bytes: number) => Buffer): string {
  const bits = [...random(BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const signs = Array.from({ length: bits.length / SIGN_BITS }, (_, index) =>
    SIGNS.charAt(Number.parseInt(bits.slice(index * SIGN_BITS, (index + 1) * SIGN_BITS), 2)),
  );
  return signs.join('').replaceAll(new RegExp(`(.{${GROUP}})(?=.)`, 'g'), '$1-');
}

/** What is stored of it. Case, spaces, hyphens, and letters that look like digits are forgiven. */
export function recoveryCodeHash(hash: KeyedHash, accountId: string, typed: string): string {
  const code = typed
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[\s\p{Pd}]/gu, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  return hash(`recovery code:${accountId}:${code}`);
}
