import { verify } from 'node:crypto';
import { ExternalSigningKey } from 'oidc-provider';
import { expect, it } from 'vitest';
import { toEngineKeys } from '../../../src/oidc/signing-keys.ts';
import { realKeys } from '../keys/keys.fixture.ts';

it('the engine is handed the published keys alone; the active one is first, and the only one that signs', async () => {
  const [next, active] = await realKeys();
  if (active === undefined || next === undefined) throw new Error('two keys');
  const { kid, privateJwk } = active;
  const published = [next.publicJwk, active.publicJwk];
  const { keys } = toEngineKeys({
    generation: 1,
    active: { kid, privateJwk },
    others: [],
    reserve: [],
    published,
  });
  const external = keys.filter((key) => key instanceof ExternalSigningKey);
  expect(external.map((key) => key.kid)).toEqual([kid, next.kid]);
  const handedOver = await Promise.all(external.map(async (key) => key.keyObject()));
  expect(handedOver.map(({ type }) => type)).toEqual(['public', 'public']);
  const data = Buffer.from('header.payload');
  const [first, second] = external;
  const signature = await first?.sign(data);
  expect(
    verify('sha256', data, { key: { ...active.publicJwk }, format: 'jwk' }, signature ?? Buffer.of()),
  ).toBe(true);
  await expect(async () => second?.sign(data)).rejects.toThrow('verifies only');
});
