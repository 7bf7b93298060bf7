import { describe, expect, it } from 'vitest';
import { Vault, toKekId, VaultError } from '../../../src/keys/vault.ts';
import { kek } from './keys.fixture.ts';

function openingFailure(run: () => unknown): VaultError {
  try {
    run();
  } catch (error) {
    if (error instanceof VaultError) return error;
    throw error;
  }
  throw new Error('it opened');
}

/** `text` with one bit of one of its base64url characters flipped. */
function flip(text: string, position: number, bit: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const index = alphabet.indexOf(text.charAt(position));
  return text.slice(0, position) + alphabet.charAt(index ^ (1 << bit)) + text.slice(position + 1);
}

describe('the vault', () => {
  it('shows nothing of the plaintext and never the same text twice', () => {
    const vault = new Vault([kek()]);
    const secret = 'correct horse battery staple';
    const sealed = vault.seal(Buffer.from(secret), 'a');
    expect(sealed).not.toContain(secret);
    expect(Buffer.from(sealed.split('.')[3] ?? '', 'base64url').toString('latin1')).not.toContain(secret);
    expect(vault.seal(Buffer.from(secret), 'a')).not.toBe(sealed);
  });

  it('KY-16: refuses a sealed value with any one bit flipped', () => {
    const vault = new Vault([kek()]);
    const sealed = vault.seal(Buffer.from('a private key'), 'kid 1');
    const body = Array.from(sealed, (character, index) => ({ character, index }))
      .filter(({ character, index }) => index >= sealed.indexOf('.', 3) && character !== '.')
      .map(({ index }) => index);
    for (const position of body) {
      for (let bit = 0; bit < 6; bit += 1) {
        expect(openingFailure(() => vault.open(flip(sealed, position, bit), 'kid 1')).code).toBe('tampered');
      }
    }
  });

  it('KY-16: refuses a value that was sealed for another name', () => {
    const vault = new Vault([kek()]);
    const error = openingFailure(() => vault.open(vault.seal(Buffer.from('x'), 'kid 1'), 'kid 2'));
    expect(error).toMatchObject({ code: 'tampered', kekId: vault.kekId });
    expect(error.message).toContain('kid 2');
  });

  it('refuses a value that is cut, lengthened or nothing at all', () => {
    const vault = new Vault([kek()]);
    const sealed = vault.seal(Buffer.from('x'), 'a');
    for (const broken of [
      '',
      '.',
      'v1',
      `${sealed}.x`,
      `${sealed}A`,
      sealed.slice(0, -1),
      `v2${sealed.slice(2)}`,
      '{}',
    ]) {
      expect(openingFailure(() => vault.open(broken, 'a')).code).toBe('tampered');
    }
  });

  it('KY-15: names the encryption key that is missing', () => {
    const lost = kek();
    const sealed = new Vault([lost]).seal(Buffer.from('x'), 'kid 1');
    const error = openingFailure(() => new Vault([kek()]).open(sealed, 'kid 1'));
    expect(error).toMatchObject({ code: 'unreadable', kekId: toKekId(lost) });
    expect(error.message).toContain('kid 1');
    expect(error.message).toContain(toKekId(lost));
    expect(error.message).not.toContain(lost.toString('base64url'));
  });

  it('KY-15: a wrong encryption key under the right id opens nothing', () => {
    const [right, wrong] = [kek(), kek()];
    const sealed = new Vault([right]).seal(Buffer.from('x'), 'a');
    const forged = sealed.replace(toKekId(right), toKekId(wrong));
    expect(openingFailure(() => new Vault([wrong]).open(forged, 'a')).code).toBe('tampered');
  });

  it('KY-17: wraps with the first encryption key and opens with all', () => {
    const [old, fresh] = [kek(), kek()];
    const sealed = new Vault([old]).seal(Buffer.from('x'), 'a');
    const vault = new Vault([fresh, old]);
    expect(vault.open(sealed, 'a').toString()).toBe('x');
    expect(vault.needsRewrap(sealed)).toBe(true);
    const rewrapped = vault.rewrap(sealed, 'a');
    expect(vault.needsRewrap(rewrapped)).toBe(false);
    expect(new Vault([fresh]).open(rewrapped, 'a').toString()).toBe('x');
    expect(openingFailure(() => new Vault([old]).open(rewrapped, 'a')).code).toBe('unreadable');
  });
});

describe('the checksum of the vault', () => {
  it('KY-16: holds for the same purpose and text only', () => {
    const vault = new Vault([kek()]);
    const checksum = vault.checksum('ring', 'text');
    expect(() => vault.verify('ring', 'text', checksum)).not.toThrow();
    expect(openingFailure(() => vault.verify('ring', 'Text', checksum)).code).toBe('tampered');
    expect(openingFailure(() => vault.verify('other', 'text', checksum)).code).toBe('tampered');
    expect(openingFailure(() => vault.verify('ring', 'text', '')).code).toBe('tampered');
    expect(openingFailure(() => vault.verify('ring', 'text', `v1.${vault.kekId}.AAAA`)).code).toBe(
      'tampered',
    );
  });

  it('KY-17: verifies under every configured encryption key', () => {
    const [old, fresh] = [kek(), kek()];
    const checksum = new Vault([old]).checksum('ring', 'text');
    expect(() => new Vault([fresh, old]).verify('ring', 'text', checksum)).not.toThrow();
    expect(openingFailure(() => new Vault([fresh]).verify('ring', 'text', checksum))).toMatchObject({
      code: 'unreadable',
      kekId: toKekId(old),
    });
  });
});
