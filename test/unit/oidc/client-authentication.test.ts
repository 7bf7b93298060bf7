// Which of a client's secrets matched; test/flow/client-authentication.test.ts checks that a correct one does.
import { expect, it } from 'vitest';
import type { ClientSecret } from '../../../src/config/config.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';
import { findSecret } from '../../../src/oidc/client-authentication.ts';

const secret = (
  value: string,
  life: Pick<ClientSecret, 'name' | 'notBefore' | 'expiresAt'>,
): ClientSecret => ({ digest: digestOf(value), ...life });
const find = (secrets: readonly ClientSecret[], value: string, at: number) =>
  findSecret(secrets, digestOf(value), at);

it('TK-10: a secret is taken until it ends, and a dead one does not hide a live one of the same value', () => {
  for (const [at, isTaken] of [
    [99, true],
    [100, false],
  ] as const)
    expect(find([secret('x', { expiresAt: 100 })], 'x', at) !== undefined, String(at)).toBe(isTaken);
  const secrets = [secret('x', { expiresAt: 100 }), secret('x', { notBefore: 50 })];
  for (const at of [10, 75, 500]) expect(find(secrets, 'x', at), String(at)).toBeDefined();
});

it('the secret that was used has its name, so that the old one can be removed with confidence', () => {
  const secrets = [secret('old', { name: 'old' }), secret('new', { name: 'new' })];
  expect(find(secrets, 'new', 0)).toMatchObject({ name: 'new' });
  expect(find(secrets, 'old', 0)).toMatchObject({ name: 'old' });
});
