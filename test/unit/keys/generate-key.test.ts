import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { generateKey } from '../../../src/keys/generate-key.ts';
import { realKeys } from './keys.fixture.ts';

describe('a generated signing key', () => {
  it('KY-02: has its RFC 7638 thumbprint as kid, and is never the same twice', async () => {
    const keys = await realKeys();
    for (const { kid, privateJwk } of keys) {
      expect(kid).toBe(await calculateJwkThumbprint(privateJwk));
    }
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
  });

  it('is never weaker than RFC 7518 §3.3 allows', async () => {
    await expect(generateKey(1024)).rejects.toThrow('2048 bits');
  });
});
