// Rows of the specification that belong to no single endpoint; all others are named in the titles of their own files.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { authorize, machineToken, signIn } from '../world/app.ts';
import { NO_PKCE } from '../world/authorization-request.ts';
import { ask, authorizationError, redirectOf } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { clientCredentials, requestToken } from '../world/token-endpoint.ts';
import { API, PEOPLE } from '../world/world.ts';
import { raw } from '../world/raw.ts';

describe('the specification', () => {
  const world = useWorld();

  it.each([
    ['GET', '/oauth/authorize', 400, 'GET, POST'],
    ['POST', '/oauth/token', 401, 'POST, OPTIONS'],
    ['GET', '/oauth/userinfo', 401, 'GET, POST, OPTIONS'],
    ['POST', '/oauth/introspect', 401, 'POST, OPTIONS'],
    ['POST', '/oauth/revoke', 401, 'POST, OPTIONS'],
    ['GET', '/oauth/logout', 200, 'GET, POST'],
    ['GET', '/.well-known/openid-configuration', 200, 'GET, HEAD, OPTIONS'],
    ['GET', '/oauth/jwks.json', 200, 'GET, HEAD, OPTIONS'],
  ])('Spec §4 endpoints, %s %s: is there (%d), and allows %s', async (method, target, status, allow) => {
    const answer = await raw(world().base, { method, target });
    expect(answer.status).toBe(status);
    // An issuer on plain loopback has no TLS.
    expect(answer.headers['strict-transport-security']).toBeUndefined();
    const deleted = await raw(world().base, { method: 'DELETE', target });
    expect([deleted.status, deleted.headers['allow']]).toEqual([405, allow]);
  });

  it.each([
    ['openid', 'sub'],
    ['email', 'email'],
    ['profile', 'name'],
  ])('Spec §1 supported scopes, %s: can be granted and gives the claim %s', async (scope, claim) => {
    const { tokens } = await signIn(world(), { scope: scope === 'openid' ? scope : `openid ${scope}` });
    expect((await userinfo(world(), tokens.access_token)).body[claim]).toBeTypeOf('string');
  });

  it('Spec §1 supported scopes, offline_access: can be granted and gives a refresh token', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid offline_access' });
    expect(tokens.refresh_token).toMatch(/^[\w-]{43}$/);
  });

  it('Spec §1 supported response type, code: is what an app gets, and no token in a URL', async () => {
    const { callback } = await authorize(world(), { scope: 'openid' });
    expect([...callback.searchParams.keys()].toSorted()).toEqual(['code', 'iss', 'state']);
    expect(callback.hash).toBe('');
  });

  it('Spec §1 client-credentials use: is not a way to sign users in', async () => {
    const answer = await clientCredentials(world(), { scope: 'openid' });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_scope']);
    const machine = await machineToken(world());
    expect((await userinfo(world(), machine)).status).toBe(401);
  });

  it('Spec §2 client, client_id: is what tokens name', async () => {
    const { tokens } = await signIn(world(), { client: 'spa', scope: 'openid' });
    expect(decodeJwt(tokens.access_token)['client_id']).toBe('spa');
    expect(decodeJwt(await machineToken(world()))['client_id']).toBe('svc');
  });

  it('Spec §2 client, client_secret: is asked of a confidential client and of no public one', async () => {
    const form = { token: 'x' };
    const confidential = await post(world(), '/oauth/introspect', { ...form, client_id: 'web' });
    expect([confidential.status, confidential.body['error']]).toEqual([401, 'invalid_client']);
    expect((await post(world(), '/oauth/introspect', { ...form, client_id: 'spa' })).status).toBe(200);
  });

  it('Spec §2 client, client type: a public one relies on PKCE and has no machine tokens', async () => {
    const { query } = redirectOf(await ask(world(), { ...NO_PKCE, client_id: 'spa' }));
    expect(query['error']).toBe('invalid_request');
    expect((await clientCredentials(world(), {}, 'spa')).status).toBe(400);
  });

  it.each([
    ['web', 'client_credentials', {}],
    ['svc', 'authorization_code', { code: 'x', redirect_uri: 'https://app.example/cb' }],
    ['svc', 'refresh_token', { refresh_token: 'x' }],
    ['first-party', 'refresh_token', { refresh_token: 'x' }],
  ] as const)('Spec §2 client, grant types, TK-15: %s may not use %s', async (client, grant, form) => {
    const answer = await requestToken(world(), client, { grant_type: grant, ...form });
    expect([answer.status, answer.body['error']]).toEqual([400, 'unauthorized_client']);
    expect(answer.body).not.toHaveProperty('access_token');
  });

  it('Spec §2 client, allowed scopes: a machine scope is for those who have it', async () => {
    const own = await clientCredentials(world(), { scope: 'reports.write' });
    expect(own.body['scope']).toBe('reports.write');
    const other = await clientCredentials(world(), { scope: 'reports.write' }, 'rs1');
    expect([other.status, other.body['error']]).toEqual([400, 'invalid_scope']);
    expect((await authorizationError(world(), { scope: 'openid reports.write' }))['error']).toBe(
      'invalid_scope',
    );
  });

  it('Spec §2 client, redirect URI: a service has none, and no authorization request either', async () => {
    const answer = await ask(world(), { client_id: 'svc', scope: 'reports.read' });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
  });

  it('Spec §2 access token, sub: identifies the user of a user token, the same in all of its places', async () => {
    const { tokens } = await signIn(world());
    expect(decodeJwt(tokens.access_token).sub).toBe(PEOPLE.alice);
    expect(decodeJwt(tokens.id_token ?? '').sub).toBe(PEOPLE.alice);
    expect((await userinfo(world(), tokens.access_token)).body['sub']).toBe(PEOPLE.alice);
    expect((await introspect(world(), tokens.access_token))['sub']).toBe(PEOPLE.alice);
  });

  it('Spec §2 access token, aud: names the API that a resource server checks for', async () => {
    expect(decodeJwt(await machineToken(world(), 'reports.read')).aud).toBe(API);
  });

  it('Spec §5 Authorization: Bearer is how a token is sent, and Basic is not', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid' });
    const bearer = await userinfo(world(), tokens.access_token);
    expect(bearer.status).toBe(200);
    const basically = await get(world(), '/oauth/userinfo', {
      authorization: `Basic ${tokens.access_token}`,
    });
    expect([basically.status, basically.body['error']]).toEqual([400, 'invalid_request']);
  });

  it('Spec §8 access tokens are reused until shortly before expires_in: one is good any number of times', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid' });
    for (let count = 0; count < 5; count += 1) {
      expect((await userinfo(world(), tokens.access_token)).status).toBe(200);
    }
  });

  it('LG-20, IN-17: offers nothing that the specification does not name', async () => {
    const targets = `/oauth/par /oauth/request /request /oauth/device /device /device/auth /oauth/reg /reg /oauth/register
      /register /backchannel /challenge /credential /token /auth /me /jwks /session/end /reset /webauthn /healthz /readyz /metrics
      /.well-known/webfinger /.well-known/openid-credential-issuer /try /forgot /forgot-password /reset-password /recover /signup
      /totp /otp /mfa /interaction/abc/reset /interaction/abc/totp /interaction/abc/otp /interaction/abc/recovery
      /interaction/abc/passkey /interaction/abc/webauthn /interaction/abc/register`;
    for (const target of targets.split(/\s+/))
      for (const method of ['GET', 'POST'])
        expect((await raw(world().base, { method, target })).status, `${method} ${target}`).toBe(404);
  });
});
