// IN-14: a copy of the store contains no usable credential. The test searches the copy for everything that a client or a browser
// received, after a check that the search finds values that are there.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../world/servers.ts';
import { takeCode } from '../world/app.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { dumpOf } from '../world/dump.ts';
import { newBrowser } from '../world/person.ts';
import { revoke } from '../world/presented-tokens.ts';
import { textOf } from '../world/requests.ts';
import { redeem, refresh, requestToken } from '../world/token-endpoint.ts';
import { PASSWORDS, SECRETS, startWorld, type StoreName, WORLD_ENV } from '../world/world.ts';
import { useStarted } from '../world/started.ts';

describe.each<StoreName>(['lmdb', 'redis'])('a copy of %s', (storeName) => {
  const redis = useStarted(async () => (storeName === 'redis' ? startRedis() : undefined));
  const world = useStarted(() => {
    const server = redis();
    return startWorld(server && { store: server.url });
  });

  it('IN-14: holds no code, token, session or interaction id, secret, verifier or password', async () => {
    const ticket = await takeCode(world());
    const unused = await takeCode(world());
    const answer = await redeem(world(), ticket);
    const rotated = await refresh(world(), textOf(answer, 'refresh_token'));
    const machine = textOf(
      await requestToken(world(), 'svc', { grant_type: 'client_credentials', scope: 'reports.read' }),
      'access_token',
    );
    await revoke(world(), machine, 'svc');
    const open = newBrowser(world());
    const login = await open.open(authorizationUrl(world(), { login_hint: 'alice' }));
    await ticket.browser.open(`${world().issuer}/oauth/logout`);

    const copy = await dumpOf(world());
    // Proves that the search works: the copy contains these.
    for (const known of [
      'AuthorizationCode',
      'RefreshToken',
      'usr_alice',
      'reports.read',
      'ring',
      ticket.nonce,
    ]) {
      expect(copy.includes(known), known).toBe(true);
    }
    const secrets: Readonly<Record<string, string>> = {
      'a used code': ticket.code,
      'an unused code': unused.code,
      'an access token': textOf(answer, 'access_token'),
      'the jti of an access token': String(decodeJwt(textOf(answer, 'access_token')).jti),
      'the signature of an access token': textOf(answer, 'access_token').split('.')[2] ?? '',
      'a used refresh token': textOf(answer, 'refresh_token'),
      'a live refresh token': textOf(rotated, 'refresh_token'),
      'an ID token': textOf(answer, 'id_token').split('.')[2] ?? '',
      'a revoked machine token': String(decodeJwt(machine).jti),
      'a verifier': ticket.verifier,
      'an interaction': login.url.split('/').at(-1) ?? '',
      'a password': PASSWORDS.alice,
      'a client secret': SECRETS.web,
      'the encryption key': WORLD_ENV.TEST_ENCRYPTION_KEY,
      'the cookie key': WORLD_ENV.TEST_COOKIE_KEY,
    };
    const cookies = [...ticket.browser.cookies, ...unused.browser.cookies, ...open.cookies];
    expect(cookies.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['postern_session', 'postern_interaction']),
    );
    for (const [what, value] of [
      ...Object.entries(secrets),
      ...cookies.map(({ name, value: cookie }) => [`the cookie ${name}`, cookie] as const),
    ]) {
      expect(value.length, what).toBeGreaterThan(10);
      expect(copy.includes(value), what).toBe(false);
      expect(copy.includes(Buffer.from(value).toString('base64')), `${what}, in base64`).toBe(false);
    }
    expect(/"(d|p|q|dp|dq|qi)\\*":\\*"[\w-]{80,}/.test(copy)).toBe(false);
    expect(copy.includes('PRIVATE KEY')).toBe(false);
  });
});
