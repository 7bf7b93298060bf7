// Our signatures of cookies against keygrip's own: one must take the other's, or an upgrade signs everybody out.
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { createCookieKeys, type CookieKeys } from '../../../src/oidc/cookie-keys.ts';

type Keygrip = new (keys: readonly string[]) => CookieKeys;
const fromKoa = createRequire(createRequire(import.meta.url).resolve('cookies'));
const Keygrip = fromKoa('keygrip') as Keygrip;

const KEYS = ['first-key-of-32-characters-at-least', 'older-key-ü-of-32-characters-at-least'];
const COOKIES = Array.from(
  { length: 200 },
  (_, index) => `postern_session=${'value-'.repeat(index % 7)}${index}`,
);

describe('the signature of a cookie', () => {
  it('is the one that keygrip makes, and each takes the other’s', () => {
    const [ours, theirs] = [createCookieKeys(KEYS), new Keygrip(KEYS)];
    for (const cookie of COOKIES) {
      expect(ours.sign(cookie)).toBe(theirs.sign(cookie));
      expect(ours.verify(cookie, theirs.sign(cookie))).toBe(true);
      expect(theirs.verify(cookie, ours.sign(cookie))).toBe(true);
    }
  });

  it('names the key that made it, so that an older one is signed anew', () => {
    const ours = createCookieKeys(KEYS);
    const old = new Keygrip(KEYS.slice(1)).sign('a=b');
    expect([ours.index('a=b', ours.sign('a=b')), ours.index('a=b', old)]).toEqual([0, 1]);
  });

  it('is refused when anything of it or of the cookie is different', () => {
    const ours = createCookieKeys(KEYS);
    const signature = ours.sign('a=b');
    const stranger = createCookieKeys(['another-key-of-32-characters-at-all']).sign('a=b');
    const changed = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    for (const given of [
      '',
      signature.slice(1),
      `${signature}=`,
      `${signature}A`,
      changed,
      stranger,
      'ü'.repeat(27),
    ]) {
      expect(ours.index('a=b', given)).toBe(-1);
    }
    expect(ours.verify('a=c', signature)).toBe(false);
  });

  it('needs a key', () => {
    expect(() => createCookieKeys([])).toThrow(TypeError);
  });
});
