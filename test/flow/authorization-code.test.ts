import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { authorize, signIn } from '../world/app.ts';
import {
  AUTHORIZATION_REQUEST,
  authorizationUrl,
  type CodeClient,
  DEFAULT_SCOPE,
} from '../world/authorization-request.ts';
import { authorizationError, begin, codeOf, finishPages, newBrowser, silently } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { redeem } from '../world/token-endpoint.ts';
import { API, CALLBACK, PEOPLE, worldClients } from '../world/world.ts';
import { eachStore, useWorld } from '../world/each-store.ts';

eachStore('the authorization-code flow with PKCE', (world) => {
  it('signs a user in through openid-client and gives one token for the API and for userinfo', async () => {
    const { tokens } = await signIn(world());
    expect(tokens.token_type).toBe('bearer');
    expect(tokens.refresh_token).toMatch(/^[\w-]{43}$/);
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({
      alg: 'RS256',
      typ: 'at+jwt',
      kid: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(decodeJwt(tokens.access_token)).toEqual({
      iss: world().issuer,
      sub: PEOPLE.alice,
      aud: [API, world().issuer],
      client_id: 'web',
      scope: 'openid email profile offline_access reports.read',
      jti: expect.stringMatching(/^[\w-]{43}$/),
      iat: expect.any(Number),
      exp: expect.any(Number),
      auth_time: expect.any(Number),
    });
    const keys = createRemoteJWKSet(new URL(`${world().issuer}/oauth/jwks.json`));
    await jwtVerify(tokens.access_token, keys, { issuer: world().issuer, audience: API, typ: 'at+jwt' });

    const claims = await userinfo(world(), tokens.access_token);
    expect(claims.status).toBe(200);
    expect(claims.body).toMatchObject({ sub: PEOPLE.alice, email: 'alice@example.com' });
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true, sub: PEOPLE.alice });
  });

  it.each<[string, CodeClient, string]>([
    ['a confidential client with client_secret_basic', 'web', 'openid email'],
    ['a confidential client with client_secret_post', 'post', 'openid email'],
    ['a public client with none', 'spa', 'openid email'],
    ['a native client on a loopback port of its choice', 'native', 'openid'],
  ])('Spec §1 authorization code with PKCE: works for %s', async (_case, client, scope) => {
    const { tokens, callback, redirectUri } = await signIn(world(), { client, scope });
    expect(`${callback.origin}${callback.pathname}`).toBe(redirectUri);
    expect(decodeJwt(tokens.access_token)).toMatchObject({ sub: PEOPLE.alice, client_id: client, scope });
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({ sub: PEOPLE.alice, aud: client });
  });
});

const world = useWorld();

describe('GET /oauth/authorize', () => {
  it('redirects to the app with code, state and iss and nothing else', async () => {
    const { callback, state } = await authorize(world(), { scope: 'openid' });
    expect(`${callback.origin}${callback.pathname}`).toBe(CALLBACK);
    expect(Object.fromEntries(callback.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      state,
      iss: world().issuer,
    });
  });

  it('refuses a POST of another content type, and one that would not fit into a URL', async () => {
    const json = { 'content-type': 'application/json' };
    expect((await post(world(), '/oauth/authorize', '{}', json)).status).toBe(415);
    const long = { ...AUTHORIZATION_REQUEST, login_hint: 'a'.repeat(9000) };
    expect((await post(world(), '/oauth/authorize', long)).status).toBe(413);
  });

  it.each(['%20', '+'])('Spec §4 GET /oauth/authorize, scope: may be separated by %s', async (space) => {
    const scope = ['openid', 'email', 'profile'].join(space);
    const url = `${authorizationUrl(world(), { scope: undefined })}&scope=${scope}`;
    const browser = newBrowser(world());
    const page = await finishPages(browser, await browser.open(url), 'alice');
    const answer = await redeem(world(), { code: codeOf(page) });
    expect(answer.body['scope']).toBe('openid email profile');
  });

  it('Spec §4 GET /oauth/authorize, state: comes back as it was, also with an error', async () => {
    const state = 'a b+c&d=é"<>';
    expect((await authorizationError(world(), { prompt: 'none', state }))['state']).toBe(state);
    const { callback } = await authorize(world(), { scope: 'openid', parameters: { state } });
    expect(callback.searchParams.get('state')).toBe(state);
  });
});

it.each(['login', 'consent'])('sign-in and consent: canceling at %s sends access_denied', async (step) => {
  const browser = newBrowser(world());
  let page = await browser.open(authorizationUrl(world()));
  if (step === 'consent') {
    page = await browser.submit(page, '/login', { username: 'bob', password: 'bob-password-22' });
  }
  const left = new URL((await browser.submit(page, '/cancel')).url);
  expect(`${left.origin}${left.pathname}`).toBe(CALLBACK);
  expect(Object.fromEntries(left.searchParams)).toEqual({
    error: 'access_denied',
    error_description: 'the user declined the request',
    state: 'state-of-the-client',
    iss: world().issuer,
  });
  const silent = await silently(world(), browser, { scope: 'openid' });
  expect(silent).toBe(step === 'login' ? 'login_required' : 'consent_required');
});

describe('the exchange of a code', () => {
  it('answers with exactly the members of RFC 6749 §5.1 and OIDC Core §3.1.3.3, not to be cached', async () => {
    const answer = await redeem(world(), await authorize(world()));
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).toSorted()).toEqual([
      'access_token',
      'expires_in',
      'id_token',
      'refresh_token',
      'scope',
      'token_type',
    ]);
    expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: DEFAULT_SCOPE });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('Spec §2 access token, expires_in: is exp - iat of the token', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid' });
    const { exp = 0, iat = 0 } = decodeJwt(tokens.access_token);
    expect(exp - iat).toBe(600);
    expect(tokens.expires_in).toBe(600);
  });

  it('gives an ID token with the claims of OIDC Core §2 and no claim that userinfo is for', async () => {
    const { tokens, nonce } = await signIn(world());
    expect(decodeJwt(tokens.id_token ?? '')).toEqual({
      iss: world().issuer,
      sub: PEOPLE.alice,
      aud: 'web',
      exp: expect.any(Number),
      iat: expect.any(Number),
      nonce,
    });
  });

  it('Spec §4 POST /oauth/token, authorization_code, grant_type: is required and must be one that exists', async () => {
    const authorized = await authorize(world(), { scope: 'openid' });
    expect((await redeem(world(), authorized, { grant_type: '' })).body['error']).toBe('invalid_request');
    expect((await redeem(world(), authorized, { grant_type: 'password' })).body['error']).toBe(
      'unsupported_grant_type',
    );
    expect((await redeem(world(), authorized)).status).toBe(200);
  });

  it('Spec §4 POST /oauth/token, authorization_code, client_id: a public client must name itself, as the one the code is for', async () => {
    const authorized = await authorize(world(), { client: 'spa', scope: 'openid' });
    const form = {
      grant_type: 'authorization_code',
      code: authorized.callback.searchParams.get('code') ?? '',
      redirect_uri: authorized.redirectUri,
      code_verifier: authorized.verifier,
    };
    expect((await post(world(), '/oauth/token', form)).body['error']).toBe('invalid_client');
    const asNative = await post(world(), '/oauth/token', { ...form, client_id: 'native' });
    expect(asNative.body['error']).toBe('invalid_grant');
    const foreign = await redeem(world(), await authorize(world(), { scope: 'openid' }), {}, 'web2');
    expect(foreign.body['error']).toBe('invalid_grant');
    expect((await post(world(), '/oauth/token', { ...form, client_id: 'spa' })).status).toBe(200);
  });

  it('Spec §4 POST /oauth/token, authorization_code, client_secret: a confidential client is not served without it', async () => {
    const authorized = await authorize(world(), { scope: 'openid' });
    const answer = await post(world(), '/oauth/token', {
      grant_type: 'authorization_code',
      client_id: 'web',
      code: authorized.callback.searchParams.get('code') ?? '',
      redirect_uri: authorized.redirectUri,
      code_verifier: authorized.verifier,
    });
    expect(answer.status).toBe(401);
    expect(answer.body['error']).toBe('invalid_client');
  });

  it.each([
    ['openid', 'the issuer alone'],
    ['openid email', 'the issuer alone'],
    ['openid reports.read', 'the API and the issuer'],
    ['reports.read', 'the API alone'],
    ['email', 'the issuer alone'],
  ])('gives for the scopes "%s" a token for %s', async (scope, audience) => {
    const { tokens } = await signIn(world(), { scope });
    const { issuer } = world();
    const audiences: Record<string, string | string[]> = {
      'the issuer alone': issuer,
      'the API alone': API,
      'the API and the issuer': [API, issuer],
    };
    expect(decodeJwt(tokens.access_token)).toMatchObject({ scope, aud: audiences[audience] });
    expect(tokens.id_token !== undefined).toBe(scope.includes('openid'));
    expect(tokens.refresh_token).toBeUndefined();
  });
});

describe('RFC 8707 resource, for a user', () => {
  const resource = { parameters: { resource: API } };

  it('gives a token for exactly that resource with its scopes alone, and an ID token', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid email reports.read', ...resource });
    expect(decodeJwt(tokens.access_token)).toMatchObject({ aud: API, scope: 'reports.read' });
    expect(tokens.scope).toBe('reports.read');
    expect(decodeJwt(tokens.id_token ?? '')['sub']).toBe(PEOPLE.alice);
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true, aud: API });
  });

  it('ignores a scope at the exchange, whatever it is (RFC 6749 §3.2)', async () => {
    for (const named of [{}, resource]) {
      const authorized = await authorize(world(), { scope: 'openid reports.read', ...named });
      const { body } = await redeem(world(), authorized, { scope: 'nobodys other.read' });
      expect(String(body['scope']).split(' ')).toContain('reports.read');
    }
  });

  it('is invalid_target at the token endpoint when the authorization request had none', async () => {
    const authorized = await authorize(world(), { scope: 'openid reports.read' });
    const answer = await redeem(world(), authorized, { resource: API });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_target']);
  });
});

describe('a sign-in that is open while the file changes', () => {
  const narrowed = worldClients({
    web: { scope: 'openid email offline_access' },
    spa: { redirect_uris: ['https://moved.example/cb'] },
  }).filter(({ client_id: id }) => id !== 'web2');

  /** Begins under the old file and finishes under the new one. */
  async function finish(parameters: Record<string, string>) {
    await world().reload({});
    const { browser, page } = await begin(world(), parameters);
    await world().reload({ clients: narrowed });
    return finishPages(browser, page, 'alice');
  }

  it('is refused a scope that the client does not have any more', async () => {
    const left = new URL((await finish({ scope: 'openid reports.read' })).url);
    expect(Object.fromEntries(left.searchParams)).toMatchObject({
      error: 'invalid_scope',
      scope: 'reports.read',
      state: AUTHORIZATION_REQUEST.state,
    });
  });

  it('goes on where nothing changed for it', async () => {
    expect(codeOf(await finish({ scope: 'openid email' }))).toMatch(/^[\w-]{43}$/);
  });

  it.each([
    ['CF-05: a redirect URI that the client does not have any more', 'spa', 'https://spa.example/cb'],
    ['a client that is gone', 'web2', 'https://app2.example/cb'],
  ])('ends on a page: %s', async (_what, client, redirectUri) => {
    const ended = await finish({ client_id: client, redirect_uri: redirectUri });
    expect([ended.status, ended.headers.get('location')]).toEqual([400, null]);
  });
});
