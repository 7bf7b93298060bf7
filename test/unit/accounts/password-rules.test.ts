import { describe, expect, it } from 'vitest';
import { COMMON_PASSWORDS } from '../../../src/accounts/expected-passwords.ts';
import { passwordFault } from '../../../src/accounts/password-rules.ts';

const CONTEXT = { minLength: 15, username: 'alice', serviceNames: ['Postern', 'id.example'] };
const faultOf = (password: string, minLength = 15) => passwordFault(password, { ...CONTEXT, minLength });

describe('a new password', () => {
  it('NIST SP 800-63B-4 §3.1.1.2: has fifteen characters as the only factor, each code point counted once, and up to 1024', () => {
    expect(faultOf('river otter 47')).toContain('at least 15 characters');
    expect(faultOf('river otter 478')).toBeUndefined();
    expect(faultOf('🦊🐢🌵🎈🪁🧵🍐🫖🪴🎻🧊🛶🪶🧭')).toContain('at least 15 characters');
    expect(faultOf('🦊🐢🌵🎈🪁🧵🍐🫖🪴🎻🧊🛶🪶🧭🪵')).toBeUndefined();
    for (const length of [64, 256, 1024]) {
      expect(faultOf('many words of my own, '.repeat(60).slice(0, length - 4) + 'x7q!')).toBeUndefined();
    }
    expect(faultOf(`${'river otter jazz '.repeat(100)}x7q`)).toContain('at most 1024');
    expect(faultOf('otterly8', 8)).toBeUndefined();
  });

  it('NIST SP 800-63B-4 §3.1.1.2: may have or lack any kind of characters', () => {
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
      expect(faultOf(password), password).toBeUndefined();
  });

  it('NIST SP 800-63B-4 §3.1.1.2: is not what is guessed first, whatever is done to it', () => {
    for (const password of [
      'passwordpassword',
      'Password12345678',
      'P@ssw0rd2026!!!!!',
      'p4ssw0rdp4ssw0rd',
      'i love you so much',
      'Correct Horse Battery Staple',
      '123456789012345',
      '098765432109876',
      'aaaaaaaaaaaaaaaa',
      'qwertyuiopasdfgh',
      'qwerty123456789',
      '1q2w3e4r5t6y7u8i',
      'abc123abc123abc123',
      '---------------',
      'ｐａｓｓｗｏｒｄ１２３４５６７８',
    ])
      expect(faultOf(password), password).toContain('first that somebody would guess');
  });

  it('NIST SP 800-63B-4 §3.1.1.2: is not the name of the person or of the service, nor both, nor one of them with a common word', () => {
    for (const password of [
      'alicealicealice',
      'Alice-Postern-2026',
      'POSTERN postern 1',
      'id.example 20262026',
      'alice-password-1',
    ])
      expect(faultOf(password, 8), password).toContain('first that somebody would guess');
    expect(faultOf('alice rides a green bicycle')).toBeUndefined();
  });

  it('is never repeated in what is said of it', () => {
    for (const password of ['short otter', 'passwordpassword', 'x'.repeat(2000)]) {
      expect(faultOf(password)).not.toContain(password);
    }
  });
});

describe('the list', () => {
  it('is in the one form that is compared, and has nothing twice', () => {
    for (const word of COMMON_PASSWORDS) expect(word).toMatch(/^[a-z]+$/);
    expect(new Set(COMMON_PASSWORDS).size).toBe(COMMON_PASSWORDS.length);
  });
});
