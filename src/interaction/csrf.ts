// The token that binds a form to one interaction and one step of it. Nothing is stored: the interaction's cookie is
// signed, HttpOnly and limited to its path, and the token can't be made without the installation's pepper.
import { isSameHash, type KeyedHash } from '../store/keyed-hash.ts';

export type Csrf = ReturnType<typeof createCsrf>;

export function createCsrf(hash: KeyedHash) {
  const token = (uid: string, step: string) => hash(`csrf:${uid}:${step}`);
  return {
    token,
    matches: (given: string, uid: string, step: string) => isSameHash(token(uid, step), given),
  };
}
