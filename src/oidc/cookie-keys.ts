// Signs cookies and verifies our own signatures, as keygrip does for koa and the engine; a cookie of one is valid for the
// other. Keygrip hands its keys to node:crypto as text and compares by two more hashes under a random key: 44 us a cookie on Node 24,
// which was a tenth of a sign-in; with key objects it takes 3.
import { createHmac, createSecretKey } from 'node:crypto';
import { isSameHash } from '../store/keyed-hash.ts';

export type CookieKeys = ReturnType<typeof createCookieKeys>;

/** What the cookies module asks of its `keys`. The first key signs; each is recognised. */
export function createCookieKeys(texts: readonly string[]) {
  const keys = texts.map((text) => createSecretKey(text, 'utf8'));
  const [first] = keys;
  if (first === undefined) throw new TypeError('cookies need a key');
  const signWith = (key: typeof first, data: string) =>
    createHmac('sha1', key).update(data).digest('base64url');
  /** Of the key that made the signature; -1 for none. The module signs anew what an older key has signed. */
  const index = (data: string, signature: string) =>
    keys.findIndex((key) => isSameHash(signWith(key, data), signature));

  return {
    sign: (data: string) => signWith(first, data),
    verify: (data: string, signature: string) => index(data, signature) >= 0,
    index,
  };
}
