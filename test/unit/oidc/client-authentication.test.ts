// Which secret of a client was right; that a right one is, is test/flow/client-authentication.test.ts.
import { createHash } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { expect, it } from 'vitest';
import { createPasswords } from '../../../src/users/passwords.ts';
import type { ClientSecret } from '../../../src/config/config.ts';
import { createSecretFinder, rememberProven } from '../../../src/oidc/client-authentication.ts';

const secret = (
  value: string,
  life: Pick<ClientSecret, 'name' | 'notBefore' | 'expiresAt'>,
): ClientSecret => ({
  kind: 'sha256',
  digest: createHash('sha256').update(value, 'utf8').digest(),
  ...life,
});
const find = createSecretFinder(async () => {
  throw new Error('no slow hash was given');
});

it('TK-10: a secret is taken until it ends, and a dead one does not hide a live one of the same value', async () => {
  for (const [at, isTaken] of [
    [99, true],
    [100, false],
  ] as const)
    expect((await find([secret('x', { expiresAt: 100 })], 'x', at)) !== undefined, String(at)).toBe(isTaken);
  const secrets = [secret('x', { expiresAt: 100 }), secret('x', { notBefore: 50 })];
  for (const at of [10, 75, 500]) expect(await find(secrets, 'x', at), String(at)).toBeDefined();
});

it('the secret that was used has its name, so that the old one can be removed with confidence', async () => {
  const secrets = [secret('old', { name: 'old' }), secret('new', { name: 'new' })];
  expect(await find(secrets, 'new', 0)).toMatchObject({ name: 'new' });
  expect(await find(secrets, 'old', 0)).toMatchObject({ name: 'old' });
});

it('an imported argon2id hash has a beginning and an end like any other, also after it was once right', async () => {
  const passwords = createPasswords(1, 1);
  const phc = await hash('imported', { memoryCost: 7168, timeCost: 1, parallelism: 1 });
  const findSlow = createSecretFinder(rememberProven((stored, value) => passwords.verify(stored, value)));
  const secrets: ClientSecret[] = [{ kind: 'argon2id', phc, notBefore: 100, expiresAt: 200 }];
  expect(await findSlow(secrets, 'imported', 99)).toBeUndefined();
  expect(await findSlow(secrets, 'imported', 150)).toBeDefined();
  expect(await findSlow(secrets, 'imported', 200)).toBeUndefined();
  await passwords.close();
});
