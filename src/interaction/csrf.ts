// The token that binds a form to one interaction and one step of it. Nothing is stored: the interaction's cookie is
// signed, HttpOnly and limited to its path, and the token can't be made without the installation's pepper.
import { timingSafeEqual } from 'node:crypto';
import type { KeyedHash } from '../store/keyed-hash.ts';

export interface Csrf {
  token(uid: string, step: string): string;
  matches(token: string, uid: string, step: string): boolean;
}

export function createCsrf(hash: KeyedHash): Csrf {
  const tokenOf = (uid: string, step: string) => hash(`csrf:${uid}:${step}`);
  return {
    token: tokenOf,
    matches(token, uid, step) {
      const expected = Buffer.from(tokenOf(uid, step));
      const given = Buffer.from(token);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
