import { describe, expect, it } from 'vitest';
import type { Client, ClientSecret } from '../../../src/config/config.ts';
import { DAY, formatInstant } from '../../../src/config/notation.ts';
import { secretState, secretWarnings } from '../../../src/config/secret-expiry.ts';
import { digestOf, secretId } from '../../../src/config/secret-strength.ts';
import { client, load, loadClient, LOCAL, NOW, PUBLIC, SECRET } from './config-files.ts';

type Life = Pick<ClientSecret, 'name' | 'notBefore' | 'expiresAt'>;
const secret = (value: string, life: Life = {}): ClientSecret => ({
  digest: digestOf(value),
  ...life,
});

async function clientWith(...secrets: ClientSecret[]): Promise<Client> {
  return { ...(await loadClient(client())), secrets };
}

describe('TK-10: the end of a secret', () => {
  it('is no fault of the file: a service that ran yesterday starts today', async () => {
    const secrets = '[{ value: env:WEB_SECRET, expires_at: 2025-12-31 }]';
    const { clients } = await load(
      `${PUBLIC}clients:\n${client({ client_secret: undefined, client_secrets: secrets })}`,
    );
    expect(secretWarnings(clients, NOW)).toEqual([
      expect.stringMatching(/^client web: .* can't authenticate/),
    ]);
  });

  it.each([
    [{}, 'live'],
    [{ notBefore: NOW + 1 }, 'not yet'],
    [{ notBefore: NOW }, 'live'],
    [{ expiresAt: NOW + 15 * DAY }, 'live'],
    [{ expiresAt: NOW + 14 * DAY }, 'expiring'],
    [{ expiresAt: NOW }, 'expired'],
  ] as const)('%j is %s', (life, state) => {
    expect(secretState(secret('x', life), NOW)).toBe(state);
  });

  it('is warned of ahead, by name, unless it is over and another took its place', async () => {
    const [old, next] = [secret('old', { expiresAt: NOW - 1, name: 'old' }), secret('new')];
    expect(secretWarnings([await clientWith(old, next)], NOW)).toEqual([]);
    const ending = secret('ending', { expiresAt: NOW + DAY });
    expect(secretWarnings([await clientWith(ending, next)], NOW)).toEqual([
      `client web: secret ${secretId(ending)} expires ${formatInstant(NOW + DAY)}`,
    ]);
  });
});

it('TK-11: the id of a secret names it without telling anything', () => {
  expect(secretId(secret('x'))).toMatch(/^[0-9a-f]{12}$/);
  expect(secretId(secret('x', { name: 'a' }))).toBe(secretId(secret('x', { name: 'b' })));
  expect(secretId(secret('x'))).not.toBe(secretId(secret('y')));
  expect(digestOf('x').toString('hex')).not.toContain(secretId(secret('x')));
});

const PHC =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
const withHash = (hash: string) =>
  `${LOCAL}clients:\n${client({ client_secret: undefined, client_secrets: `[{ hash: "${hash}", name: imported }]` })}`;

describe('the hash of a secret', () => {
  it.each([PHC, '$2b$12$abcdefghijklmnopqrstuv'])('is refused as %s', async (hash) => {
    await expect(load(withHash(hash))).rejects.toThrow('must be sha256:');
  });

  it('in place of a reference is pointed to its key', async () => {
    await expect(
      load(`${PUBLIC}clients:\n${client({ client_secret: `"sha256:${'a'.repeat(64)}"` })}`),
    ).rejects.toThrow('is a hash');
    await expect(load(`${PUBLIC}clients:\n${client({ client_secret: `"${PHC}"` })}`)).rejects.toThrow(
      'is a hash',
    );
    expect(
      JSON.stringify((await load(`${LOCAL}clients:\n${client({ client_secret: SECRET })}`)).clients),
    ).not.toContain(SECRET);
  });
});
