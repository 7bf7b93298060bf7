import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oidc from 'openid-client';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { eachStore, useWorld, useWorldOnRedis } from '../world/each-store.ts';
import { connect } from '../world/app.ts';
import { introspect, revoke, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { basic, clientCredentials } from '../world/token-endpoint.ts';
import { API, OTHER_API, SECRETS, type World } from '../world/world.ts';

eachStore('the client_credentials grant', (world) => {
  it('Spec §1 client_credentials: gives a machine token through openid-client', async () => {
    const configuration = await connect(world(), 'svc');
    const answer = await oidc.clientCredentialsGrant(configuration, { scope: 'reports.read' });
    expect(answer.token_type).toBe('bearer');
    expect(decodeJwt(answer.access_token)).toEqual({
      iss: world().issuer,
      sub: 'svc',
      aud: API,
      client_id: 'svc',
      scope: 'reports.read',
      jti: expect.stringMatching(/^[\w-]{43}$/),
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
    expect(await introspect(world(), answer.access_token)).toMatchObject({ active: true, sub: 'svc' });
  });
});

describe('POST /oauth/token, client_credentials', () => {
  const world = useWorld();
  const claimsOf = async (form: Record<string, string> = {}) =>
    decodeJwt(String((await clientCredentials(world(), form)).body['access_token']));

  it('Spec §4 POST /oauth/token, client_credentials, TK-20, TK-24: answers access token and expiry, no id_token and no refresh_token', async () => {
    const answer = await clientCredentials(world(), { scope: 'reports.read' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 600,
      scope: 'reports.read',
      token_type: 'Bearer',
    });
    expect(decodeJwt(String(answer.body['access_token'])).sub).toBe('svc');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
  });

  it('Spec §4 POST /oauth/token, client_credentials, grant_type: is required, and only this one is for services', async () => {
    const as = { authorization: basic('svc') };
    const without = await post(world(), '/oauth/token', { scope: 'reports.read' }, as);
    expect([without.status, without.body['error']]).toEqual([400, 'invalid_request']);
    const code = await post(world(), '/oauth/token', { grant_type: 'authorization_code', code: 'x' }, as);
    expect([code.status, code.body['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('Spec §4 POST /oauth/token, client_credentials, client_id and client_secret, TK-03: are required', async () => {
    const form = { grant_type: 'client_credentials' };
    const nobody = await post(world(), '/oauth/token', form);
    expect([nobody.status, nobody.body['error']]).toEqual([401, 'invalid_client']);
    expect(nobody.headers.get('www-authenticate')).toBe(`Basic realm="${world().issuer}"`);
    expect(nobody.headers.get('cache-control')).toBe('no-store');
    const noSecret = await post(world(), '/oauth/token', { ...form, client_id: 'svc' });
    expect([noSecret.status, noSecret.body['error']]).toEqual([401, 'invalid_client']);
    const both = { ...form, client_id: 'svc', client_secret: SECRETS.svc };
    expect((await post(world(), '/oauth/token', both)).status).toBe(200);
  });

  it('Spec §4 POST /oauth/token, client_credentials, scope: becomes the token’s, and may be left out', async () => {
    expect(await claimsOf({ scope: 'reports.write reports.read' })).toMatchObject({
      scope: 'reports.write reports.read',
      aud: API,
    });
    // The only scope that this client may request.
    const form = { grant_type: 'client_credentials' };
    const { body } = await post(world(), '/oauth/token', form, { authorization: basic('rs1') });
    expect(body['scope']).toBe('reports.read');
    expect(decodeJwt(String(body['access_token']))).toMatchObject({ aud: API, scope: 'reports.read' });
  });

  it.each([
    ['reports.read', 600],
    ['other.read', 300],
  ])('Spec §2 access token, expires_in, TK-26: is exp - iat, for %s %d seconds', async (scope, seconds) => {
    const { body } = await clientCredentials(world(), { scope });
    const { exp = 0, iat = 0 } = decodeJwt(String(body['access_token']));
    expect([body['expires_in'], exp - iat]).toEqual([seconds, seconds]);
  });

  it('Spec §2 access token, sub: is the service, and no user profile exists', async () => {
    const token = String((await clientCredentials(world(), { scope: 'reports.read' })).body['access_token']);
    expect(decodeJwt(token).sub).toBe('svc');
    const answer = await userinfo(world(), token);
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_token']);
  });

  it('Spec §2 access token, format: is a JWT signed with RS256 whose header has kid and at+jwt', async () => {
    const token = String((await clientCredentials(world())).body['access_token']);
    expect(decodeProtectedHeader(token)).toEqual({
      alg: 'RS256',
      typ: 'at+jwt',
      kid: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it('gives with resource a token for exactly that one', async () => {
    expect(await claimsOf({ scope: 'reports.read', resource: API })).toMatchObject({
      aud: API,
      scope: 'reports.read',
    });
    const { body } = await clientCredentials(world(), { scope: 'other.read', resource: OTHER_API });
    expect(body['expires_in']).toBe(300);
    expect(decodeJwt(String(body['access_token'])).aud).toBe(OTHER_API);
  });

  it('ignores code, redirect_uri and PKCE, which the grant does not have', async () => {
    const extra = { code: 'x', redirect_uri: 'https://evil.example', code_verifier: 'y' };
    expect((await clientCredentials(world(), extra)).status).toBe(200);
  });

  const OTHER_TYPES = ['application/json', 'text/plain', 'multipart/form-data; boundary=x', ''];
  it.each(OTHER_TYPES)('Spec §4 Content-Type, TK-29: a body must be a form, not "%s"', async (type) => {
    const headers = { authorization: basic('svc'), 'content-type': type };
    for (const body of ['grant_type=client_credentials', '{"grant_type":"client_credentials"}']) {
      const answer = await post(world(), '/oauth/token', body, headers);
      expect([answer.status, answer.body['error']], body).toEqual([400, 'invalid_request']);
      expect(answer.body).not.toHaveProperty('access_token');
    }
  });

  it('gives each token its own jti', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await claimsOf()).jti));
    expect(new Set(ids).size).toBe(20);
  });
});

describe('machine tokens and the store', () => {
  let world: World;
  let client: Redis;
  useWorldOnRedis((opened) => ({ world, client } = opened));

  it('leave no record, however many are issued and introspected', async () => {
    for (let count = 0; count < 10; count += 1) {
      const { body } = await clientCredentials(world, { scope: 'reports.read' });
      expect((await introspect(world, String(body['access_token'])))['active']).toBe(true);
    }
    const keys = await client.keys('*');
    expect(keys.filter((key) => !/^postern:(documents|counter|record:Mark):/.test(key))).toEqual([]);
    expect(keys.some((key) => key.startsWith('postern:counter:'))).toBe(true);
  });

  it('leave one record when they are revoked, which ends soon after the token', async () => {
    const { body } = await clientCredentials(world, { scope: 'reports.read' });
    const token = String(body['access_token']);
    await revoke(world, token, 'svc');
    const records = (await client.keys('postern:record:*')).filter((key) => !key.includes(':Mark:'));
    expect(records).toHaveLength(1);
    const life = await client.ttl(records[0] ?? '');
    expect(life).toBeGreaterThan(600);
    // Includes twice two minutes for clocks that are off.
    expect(life).toBeLessThanOrEqual(841);
  });
});
