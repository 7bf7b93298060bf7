import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ClientSecret } from '../../../src/config/config.ts';
import { matchesLiveSecret } from '../../../src/engine/client-authentication.ts';

const secret = (value: string, life: Partial<ClientSecret> = {}): ClientSecret => ({
  digest: createHash('sha256').update(value, 'utf8').digest(),
  ...life,
});

describe('the secrets of a client', () => {
  it('match by value, whichever of them it is', () => {
    const secrets = [secret('one'), secret('two'), secret('zwei·é')];
    for (const value of ['one', 'two', 'zwei·é']) expect(matchesLiveSecret(secrets, value, 0)).toBe(true);
    for (const value of ['', 'One', 'one ', 'onetwo', 'one\u0000']) {
      expect(matchesLiveSecret(secrets, value, 0)).toBe(false);
    }
  });

  it('are none where there are none', () => {
    expect(matchesLiveSecret([], '', 0)).toBe(false);
    expect(matchesLiveSecret([], 'x', 0)).toBe(false);
  });

  it.each([
    [99, false],
    [100, true],
    [199.9, true],
    [200, false],
  ])('live from notBefore up to but without expiresAt: at %d s %s', (at, expected) => {
    expect(matchesLiveSecret([secret('x', { notBefore: 100, expiresAt: 200 })], 'x', at)).toBe(expected);
  });

  it('may overlap, and a dead one does not hide a live one of the same value', () => {
    const secrets = [secret('x', { expiresAt: 100 }), secret('x', { notBefore: 50 })];
    expect(matchesLiveSecret(secrets, 'x', 10)).toBe(true);
    expect(matchesLiveSecret(secrets, 'x', 75)).toBe(true);
    expect(matchesLiveSecret(secrets, 'x', 500)).toBe(true);
  });
});
