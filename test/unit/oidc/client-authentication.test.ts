import { createHash } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { describe, expect, it } from 'vitest';
import { createPasswords } from '../../../src/users/passwords.ts';
import type { ClientSecret } from '../../../src/config/config.ts';
import { createSecretFinder, rememberProven } from '../../../src/oidc/client-authentication.ts';

type Life = Pick<ClientSecret, 'name' | 'notBefore' | 'expiresAt'>;

const secret = (value: string, life: Life = {}): ClientSecret => ({
  kind: 'sha256',
  digest: createHash('sha256').update(value, 'utf8').digest(),
  ...life,
});

const never = async (): Promise<boolean> => {
  throw new Error('no slow hash was given');
};

/** The name of the secret that `value` is, or whether there is one. */
async function matches(secrets: readonly ClientSecret[], value: string, at: number): Promise<boolean> {
  return (await createSecretFinder(never)(secrets, value, at)) !== undefined;
}

describe('the secrets of a client', () => {
  it('match by value, whichever of them it is', async () => {
    const secrets = [secret('one'), secret('two'), secret('zwei·é')];
    for (const value of ['one', 'two', 'zwei·é']) expect(await matches(secrets, value, 0)).toBe(true);
    for (const value of ['', 'One', 'one ', 'onetwo', 'one\u0000']) {
      expect(await matches(secrets, value, 0)).toBe(false);
    }
  });

  it('are none where there are none', async () => {
    expect(await matches([], '', 0)).toBe(false);
    expect(await matches([], 'x', 0)).toBe(false);
  });

  it.each([
    [99, false],
    [100, true],
    [199.9, true],
    [200, false],
  ])('live from notBefore up to but without expiresAt: at %d s %s', async (at, expected) => {
    expect(await matches([secret('x', { notBefore: 100, expiresAt: 200 })], 'x', at)).toBe(expected);
  });

  it('may overlap, and a dead one does not hide a live one of the same value', async () => {
    const secrets = [secret('x', { expiresAt: 100 }), secret('x', { notBefore: 50 })];
    expect(await matches(secrets, 'x', 10)).toBe(true);
    expect(await matches(secrets, 'x', 75)).toBe(true);
    expect(await matches(secrets, 'x', 500)).toBe(true);
  });

  it('say which one was used, so that the old one can be removed with confidence', async () => {
    const secrets = [secret('old', { name: 'old' }), secret('new', { name: 'new' })];
    const find = createSecretFinder(never);
    expect(await find(secrets, 'new', 0)).toMatchObject({ name: 'new' });
    expect(await find(secrets, 'old', 0)).toMatchObject({ name: 'old' });
  });
});

describe('an imported argon2id hash', () => {
  const cost = { memoryCost: 7168, timeCost: 1, parallelism: 1 };
  const passwords = createPasswords(1, 1);

  it('is compared in the queue, and only until the secret has once been right', async () => {
    const asked: string[] = [];
    const verify = rememberProven(async (phc, value) => {
      asked.push(value);
      return passwords.verify(phc, value);
    });
    const find = createSecretFinder(verify);
    const secrets: ClientSecret[] = [
      secret('fast'),
      { kind: 'argon2id', phc: await hash('imported', cost), name: 'imported' },
    ];
    expect(await find(secrets, 'wrong', 0)).toBeUndefined();
    expect(await find(secrets, 'imported', 0)).toMatchObject({ name: 'imported' });
    expect(await find(secrets, 'imported', 0)).toMatchObject({ name: 'imported' });
    expect(await find(secrets, 'fast', 0)).toMatchObject({ kind: 'sha256' });
    expect(await find(secrets, 'wrong', 0)).toBeUndefined();
    expect(asked).toEqual(['wrong', 'imported', 'wrong']);
  });

  it('has a beginning and an end like any other, also after it was once right', async () => {
    const phc = await hash('imported', cost);
    const find = createSecretFinder(rememberProven((stored, value) => passwords.verify(stored, value)));
    const secrets: ClientSecret[] = [{ kind: 'argon2id', phc, notBefore: 100, expiresAt: 200 }];
    expect(await find(secrets, 'imported', 99)).toBeUndefined();
    expect(await find(secrets, 'imported', 150)).toBeDefined();
    expect(await find(secrets, 'imported', 200)).toBeUndefined();
  });
});
