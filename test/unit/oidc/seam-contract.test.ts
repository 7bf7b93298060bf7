// The seam's assumptions about the engine's classes. Fails when an upgrade of the engine changes them: then review
// src/oidc/seam/ before anything else.
import Provider from 'oidc-provider';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { signIn } from '../../world/app.ts';
import { authorizationPath, authorizationUrl } from '../../world/authorization-request.ts';
import { newBrowser } from '../../world/person.ts';
import { get, post } from '../../world/requests.ts';
import { clientCredentials, refresh } from '../../world/token-endpoint.ts';
import { API, type OpenWorld, startWorld } from '../../world/world.ts';
import { raw } from '../../world/raw.ts';

const printed: string[] = [];
let world: OpenWorld;
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
  printed.length = 0; // the engine warns about its own defaults; ours uses none of them
  world = await startWorld();
});
afterAll(async () => {
  await world.stop();
  vi.restoreAllMocks();
});
describe('the classes of the engine', () => {
  it.each(['AccessToken', 'ClientCredentials', 'OIDCContext', 'Client'])('%s is a live getter', (name) => {
    expect(Object.getOwnPropertyDescriptor(Provider.prototype, name)).toEqual({
      get: expect.any(Function),
      set: undefined,
      enumerable: false,
      configurable: true,
    });
  });

  it.each(['AccessToken', 'ClientCredentials'] as const)('%s has its value in getValueAndPayload', (name) => {
    expect((bare[name].prototype as { getValueAndPayload?: unknown }).getValueAndPayload).toBeTypeOf(
      'function',
    );
    expect(bare[name].name).toBe(name);
  });

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

describe('the console', () => {
  it('hears nothing: of flows, CORS, sign-out, errors and a user who declines', async () => {
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
