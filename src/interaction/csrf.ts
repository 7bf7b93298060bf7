// The token that binds a form to one interaction and one step of it. Nothing is stored: the interaction's cookie is
// signed, HttpOnly and limited to its path, and the token can't be made without the installation's pepper.
import { timingSafeEqual } from 'node:crypto';
import type { KeyedHash } from '../store/keyed-hash.ts';

export type Csrf = ReturnType<typeof createCsrf>;

export function createCsrf(hash: KeyedHash) {
  const tokenOf = (uid: string, step: string) => hash(`csrf:${uid}:${step}`);
  return {
    token: tokenOf,
    matches(token: string, uid: string, step: string): boolean {
      const expected = Buffer.from(tokenOf(uid, step));
      const given = Buffer.from(token);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
