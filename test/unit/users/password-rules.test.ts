import { describe, expect, it } from 'vitest';
import { readFile } from 'node:fs/promises';
import { passwordFault } from '../../../src/users/password-rules.ts';
import { rounds } from '../../world/rounds.ts';

const CONTEXT = { minLength: 15, username: 'alice', serviceNames: ['Postern', 'id.example'] };
const faultOf = (password: string, minLength = 15) => passwordFault(password, { ...CONTEXT, minLength });

// The estimator reads its dictionaries first, which takes seconds on a busy machine.
describe('a new password', { timeout: 120_000 }, () => {
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

  it('NIST SP 800-63B-4 §3.1.1.2: is not what is guessed first, whatever is done to it', async () => {
    for (const password of [
      'passwordpassword',
      'Password12345678',
      'P@ssw0rd2026!!!!!',
      'p4ssw0rdp4ssw0rd',
      'qazwsxedcrfvtgbyhn',
      'sunshine20102011',
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
      expect(await faultOf(password), password).toContain('first that somebody would guess');
  });

  it('NIST SP 800-63B-4 §3.1.1.2: is not the name of the person or of the service, nor both, nor one of them with a common word', async () => {
    for (const password of [
      'alicealicealice',
      'Alice-Postern-2026',
      'POSTERN postern 1',
      'id.example 20262026',
      'alice-password-1',
    ])
      expect(await faultOf(password), password).toContain('first that somebody would guess');
    expect(await faultOf('alice rides a green bicycle')).toBeUndefined();
  });

  it('is never repeated in what is said of it', async () => {
    for (const password of ['short otter', 'passwordpassword', 'x'.repeat(2000)]) {
      expect(await faultOf(password)).not.toContain(password);
    }
  });
});

describe('the estimate', { timeout: 120_000 }, () => {
  it('NIST SP 800-63B-4 §3.1.1.2: refuses most of a sample of breached passwords that it was not made from', async () => {
    const sample = (await readFile(new URL('breached-passwords.txt', import.meta.url), 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(sample.length).toBeGreaterThan(90);
    const faults: (string | undefined)[] = [];
    for (const password of sample) faults.push(await faultOf(password));
    expect(faults.filter((fault) => fault !== undefined).length / sample.length).toBeGreaterThan(0.7);
  });

  const PHRASES = rounds(1000, 40);

  it(`refuses none of ${PHRASES} random phrases of four words`, async () => {
    // Its own list of words for phrases, so that each word is as cheap as a word can be.
    const { dictionary } = await import('@zxcvbn-ts/language-common');
    const words = dictionary['diceware-common'];
    let state = 16;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const word = () => words[Math.floor(random() * words.length)] ?? '';
    const refused: string[] = [];
    for (let count = 0; count < PHRASES; count += 1) {
      const phrase = [word(), word(), word(), word()].join([' ', '-', ''][count % 3]);
      if (phrase.length >= 15 && (await faultOf(phrase)) !== undefined) refused.push(phrase);
    }
    expect(refused).toEqual([]);
  });
});
