// What the seam believes of the engine's classes. Fails when an upgrade of the engine changes it: then src/oidc/seam/
// is to be read anew, before anything else.
import { decodeJwt, decodeProtectedHeader } from 'jose';
import Provider from 'oidc-provider';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { authorize, signIn } from '../../world/app.ts';
import { authorizationPath, authorizationUrl, DEFAULT_SCOPE } from '../../world/authorization-request.ts';
import { newBrowser } from '../../world/person.ts';
import { introspect, revoke, userinfo } from '../../world/presented-tokens.ts';
import { get, post } from '../../world/requests.ts';
import { basic, clientCredentials, redeem, refresh } from '../../world/token-endpoint.ts';
import { API } from '../../world/world.ts';
import { raw } from '../../world/raw.ts';
import { type EngineWorld, startEngine } from './engine.fixture.ts';

const printed: string[] = [];
let world: EngineWorld;
/** The engine as it ships. */
let bare: Provider;

beforeAll(async () => {
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void printed.push(words.join(' ')));
  }
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((chunk) => {
      printed.push(String(chunk));
      return true;
    });
  }
  bare = new Provider('https://id.example');
  printed.length = 0; // it warns of its own defaults, which ours has none of
  world = await startEngine();
});
afterAll(async () => {
  await world.stop();
  vi.restoreAllMocks();
});
beforeEach(() => {
  world.calls.length = 0;
});

describe('the classes of the engine', () => {
  it.each(['AccessToken', 'ClientCredentials', 'OIDCContext', 'Client'])(
    '%s is a getter on Provider.prototype, and read anew from the instance',
    (name) => {
      expect(Object.getOwnPropertyDescriptor(Provider.prototype, name)).toEqual({
        get: expect.any(Function),
        set: undefined,
        enumerable: false,
        configurable: true,
      });
    },
  );

  it.each(['AccessToken', 'ClientCredentials'] as const)(
    '%s makes its value in getValueAndPayload, and its name is its kind',
    (name) => {
      expect((bare[name].prototype as { getValueAndPayload?: unknown }).getValueAndPayload).toBeTypeOf(
        'function',
      );
      expect(bare[name].name).toBe(name);
      const ours = world.engine.provider[name];
      expect(Object.hasOwn(ours.prototype, 'getValueAndPayload')).toBe(true);
      expect(Object.hasOwn(ours, 'find')).toBe(true);
      expect(ours.name).toBe(name);
      expect(Object.getPrototypeOf(ours)).not.toBe(bare[name]);
    },
  );

  it('OIDCContext has no params before the engine assigns them', () => {
    type Context = new (ctx: object) => { params?: unknown };
    const Base = bare.OIDCContext as unknown as Context;
    expect(Object.hasOwn(Base.prototype as object, 'params')).toBe(false);
    const context = new Base({ _matchedRouteName: 'introspection' });
    expect(Object.hasOwn(context, 'params')).toBe(false);
    expect(context.params).toBeUndefined();
  });

  it('a client’s secret is compared by compareClientSecret', () => {
    expect((bare.Client.prototype as { compareClientSecret?: unknown }).compareClientSecret).toBeTypeOf(
      'function',
    );
  });

  it('a model is found by find, ended by destroy, and knows its id and end', () => {
    const { AccessToken } = bare;
    expect((AccessToken as unknown as { find?: unknown }).find).toBeTypeOf('function');
    expect((AccessToken.prototype as { destroy?: unknown }).destroy).toBeTypeOf('function');
  });
});

describe('the store calls of a token', () => {
  it('of a machine: none to issue, one to introspect, two to revoke', async () => {
    const { body } = await clientCredentials(world, { scope: 'reports.read' });
    expect(world.calls).toEqual([]);
    const token = String(body['access_token']);
    expect((await introspect(world, token))['active']).toBe(true);
    expect(world.calls).toEqual(['RevokedToken.find']);
    world.calls.length = 0;
    await revoke(world, token, 'svc');
    expect(world.calls).toEqual(['RevokedToken.find', 'RevokedToken.save']);
  });

  it('of a person: the exchange saves the access token once, and the refresh token and the code’s end', async () => {
    const authorized = await authorize(world);
    world.calls.length = 0;
    expect((await redeem(world, authorized)).status).toBe(200);
    expect(world.calls.filter((call) => call.startsWith('AccessToken.'))).toEqual(['AccessToken.save']);
    expect(world.calls.filter((call) => call.startsWith('RefreshToken.'))).toEqual(['RefreshToken.save']);
    expect(world.calls.filter((call) => call.startsWith('AuthorizationCode.'))).toEqual([
      'AuthorizationCode.find',
      'AuthorizationCode.consume',
    ]);
    expect(world.calls.filter((call) => call.endsWith('.save'))).toHaveLength(2);
  });

  it('that is not ours: none', async () => {
    for (const token of ['a.b.c', '..', 'a.b.c.d.e']) {
      expect(await introspect(world, token)).toEqual({ active: false });
    }
    expect(world.calls).toEqual([]);
  });
});

describe('the tokens of the engine', () => {
  it('are at+jwt of three parts, for machines and for people', async () => {
    const machine = String((await clientCredentials(world)).body['access_token']);
    const { tokens } = await signIn(world);
    for (const token of [machine, tokens.access_token]) {
      expect(token.split('.')).toHaveLength(3);
      expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' });
    }
    const renewed = (await refresh(world, tokens.refresh_token)).body;
    expect(decodeProtectedHeader(String(renewed['access_token'])).typ).toBe('at+jwt');
  });

  it('are JWTs that introspection takes: an ID token is 200 {"active":false}', async () => {
    const { tokens } = await signIn(world);
    const form = { token: tokens.id_token ?? '' };
    const answer = await post(world, '/oauth/introspect', form, { authorization: basic('web') });
    expect([answer.status, answer.text]).toEqual([200, '{"active":false}']);
  });

  it('are not their jti: the four places refuse the bare one', async () => {
    const { tokens } = await signIn(world);
    const machine = String((await clientCredentials(world, { scope: 'reports.read' })).body['access_token']);
    for (const [token, owner] of [
      [tokens.access_token, 'web'],
      [machine, 'svc'],
    ] as const) {
      const jti = decodeJwt(token).jti ?? '';
      expect(jti).toMatch(/^[\w-]{43}$/);
      expect((await userinfo(world, jti)).status).toBe(401);
      expect((await post(world, '/oauth/userinfo', { access_token: jti })).status).toBe(401);
      expect(await introspect(world, jti, owner)).toEqual({ active: false });
      await revoke(world, jti, owner);
      expect((await introspect(world, token, owner))['active']).toBe(true);
    }
  });

  it('are for the API and for userinfo at once, and with resource for the API alone', async () => {
    const both = await signIn(world, { scope: 'openid reports.read' });
    expect(decodeJwt(both.tokens.access_token).aud).toEqual([API, world.issuer]);
    expect((await userinfo(world, both.tokens.access_token)).status).toBe(200);
    const one = await signIn(world, { scope: 'openid reports.read', parameters: { resource: API } });
    expect((await userinfo(world, one.tokens.access_token)).status).toBe(403);
  });

  it('leave the claims to userinfo: the ID token of a code flow carries no email', async () => {
    const { tokens } = await signIn(world, { scope: DEFAULT_SCOPE });
    expect(decodeJwt(tokens.id_token ?? '')).not.toHaveProperty('email');
    expect(decodeJwt(tokens.id_token ?? '')).not.toHaveProperty('name');
  });

  it('do not take a repeated token for one', async () => {
    const answer = await post(world, '/oauth/introspect', 'token=a.b.c&token=d.e.f', {
      authorization: basic('rs1'),
    });
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
  });
});

describe('the addresses of the engine', () => {
  it('are the specification’s and begin with the issuer under a forged Host', async () => {
    const answer = await raw(world.base, {
      target: '/.well-known/openid-configuration',
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    });
    expect(JSON.parse(answer.text)).toMatchObject({
      issuer: world.issuer,
      authorization_endpoint: `${world.issuer}/oauth/authorize`,
      token_endpoint: `${world.issuer}/oauth/token`,
      userinfo_endpoint: `${world.issuer}/oauth/userinfo`,
      jwks_uri: `${world.issuer}/oauth/jwks.json`,
      introspection_endpoint: `${world.issuer}/oauth/introspect`,
      revocation_endpoint: `${world.issuer}/oauth/revoke`,
      end_session_endpoint: `${world.issuer}/oauth/logout`,
      scopes_supported: ['openid', 'email', 'profile', 'offline_access'],
    });
    expect(answer.text).not.toContain('evil');
  });
});

describe('the console', () => {
  it('hears nothing: of flows, CORS, sign-out, errors and a person who declines', async () => {
    const { browser, tokens } = await signIn(world);
    const origin = { origin: 'https://spa.example' };
    await get(world, '/oauth/userinfo', origin);
    await post(world, '/oauth/token', { grant_type: 'x', client_id: 'spa' }, origin);
    await raw(world.base, { method: 'OPTIONS', target: '/oauth/token', headers: origin });
    await get(world, '/oauth/authorize?client_id=unknown');
    await get(world, authorizationPath({ response_type: 'token' }));
    await get(world, '/oauth/authorize', { accept: 'application/json' });
    await get(world, '/oauth/logout?id_token_hint=garbage');
    await clientCredentials(world, { scope: 'nope' });
    await clientCredentials(world, { resource: API });
    await refresh(world, tokens.refresh_token);
    await refresh(world, tokens.refresh_token);
    const hint = new URLSearchParams({ id_token_hint: tokens.id_token ?? '' }).toString();
    const ask = await browser.open(`${world.issuer}/oauth/logout?${hint}`);
    const done = await browser.submit(ask, '/confirm', { logout: 'yes' });
    expect(done.text).toContain('You’re signed out');
    const other = newBrowser(world);
    const login = await other.open(authorizationUrl(world));
    await other.submit(login, '/cancel');
    expect(printed).toEqual([]);
  });

  it('would be heard here', () => {
    // oxlint-disable-next-line no-console
    console.warn('a word');
    process.stderr.write('another');
    expect(printed.splice(0)).toEqual(['a word', 'another']);
  });
});
