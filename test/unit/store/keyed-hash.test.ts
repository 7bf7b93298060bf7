import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { createKeyedHash, noHash } from '../../../src/store/keyed-hash.ts';

it('names the same value the same, however many others it named meanwhile and however long they were', () => {
  const pepper = Buffer.alloc(32, 7);
  const hash = createKeyedHash(pepper);
  const values = [
    ...Array.from({ length: 1500 }, (_, index) => `Session:${index}`),
    'a'.repeat(128),
    'a'.repeat(129),
    'ä'.repeat(5000),
  ];
  for (const value of [...values, ...values.toReversed()]) {
    expect(hash(value)).toBe(createHmac('sha256', pepper).update(value).digest('base64url'));
  }
});

it('names nothing without a pepper', () => {
  expect(() => noHash('Session:1')).toThrow(TypeError);
});
