// A request without `scope`: what it asks for where it starts, and that nothing is filled in later.
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { signIn } from '../world/app.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import type { Browser, Page } from '../world/browser.ts';
import { codeOf, itemsOf, newBrowser, signInAs, silently } from '../world/person.ts';
import { post } from '../world/requests.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { API, GENEROUS, type OpenWorld, OTHER_API, SECRETS, worldClients } from '../world/world.ts';
import { anyStore, useWorld } from '../world/each-store.ts';

const BARE = 'https://api.example/bare';
const CLIENTS = [
  ...worldClients({ web: { default_scope: 'openid email' } }).filter(({ client_id: id }) =>
    ['web', 'web2', 'first-party', 'rs1'].includes(id),
  ),
  // All of one API, of two, and of two with a default.
  machineClient('post', 'other.read other.write'),
  machineClient('svc', 'reports.read reports.write other.read'),
  { ...machineClient('with-default', 'reports.read reports.write other.read'), default_scope: 'other.read' },
  machineClient('in-part', 'reports.write'),
];
const CONFIG = {
  ...GENEROUS,
  resources: [
    { resource: API, scopes: ['reports.read', 'reports.write'], default_scopes: ['reports.read'] },
    { resource: OTHER_API, scopes: ['other.read', 'other.write'] },
    { resource: BARE, clients: ['with-default', 'web'] },
  ],
  clients: CLIENTS,
  lifetimes: { consent: '180d' },
};

function machineClient(id: string, scope: string) {
  return { client_id: id, client_secret: 'env:TEST_SVC', grant_types: ['client_credentials'], scope };
}

type Fields = Readonly<Record<string, string>>;

const asMachine = (world: OpenWorld, id: string, fields: Fields) =>
  post(world, '/oauth/token', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: SECRETS.svc,
    ...fields,
  });

/** Where it ends without anybody doing anything. */
async function openRequest(
  world: OpenWorld,
  browser: Browser,
  fields: Fields,
  method = 'GET',
): Promise<Page> {
  const url = authorizationUrl(world, { scope: undefined, nonce: undefined, ...fields });
  if (method === 'GET') return browser.open(url);
  const [address = '', body = ''] = url.split('?');
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return browser.open(address, { method, headers, body });
}

const answerOf = ({ url }: Page) => Object.fromEntries(new URL(url).searchParams);

async function exchangeAt(world: OpenWorld, page: Page) {
  return (await redeem(world, { code: codeOf(page) })).body;
}

const EMPTY = [{}, { scope: '' }] as const;
const BESIDE = [{}, { nonce: 'nonce-of-the-client' }, { max_age: '3600' }, { prompt: 'consent' }] as const;
const STARTS = EMPTY.flatMap((empty) =>
  BESIDE.flatMap((beside) => ['GET', 'POST'].map((method) => [method, { ...empty, ...beside }] as const)),
);
const WEB2 = { client_id: 'web2', redirect_uri: 'https://app2.example/cb' };

anyStore(
  'no scope',
  (world) => {
    afterEach(() => {
      vi.restoreAllMocks();
    });

    it('AC-09: is invalid_scope at the app, before anybody signs in, where there is nothing to fill in', async () => {
      const save = vi.spyOn(world().openedStore.records, 'save');
      for (const [method, fields] of [...STARTS, ['GET', { prompt: 'none' }] as const]) {
        const page = await openRequest(world(), newBrowser(world()), { ...WEB2, ...fields }, method);
        expect(page.url, JSON.stringify([method, fields])).toContain(WEB2.redirect_uri);
        expect(answerOf(page)).toMatchObject({
          error: 'invalid_scope',
          state: 'state-of-the-client',
          iss: world().issuer,
        });
      }
      expect(save.mock.calls.map(([{ kind }]) => kind)).not.toContain('Interaction');
    });

    it('AC-09, AC-36: means the default_scope of the client: shown, granted, remembered and named', async () => {
      const browser = newBrowser(world());
      const asked = await signInAs(browser, await openRequest(world(), browser, { nonce: 'n' }), 'alice');
      expect(itemsOf(asked)).toEqual(['Confirm your identity', 'See your email address']);
      const answer = await exchangeAt(world(), await browser.submit(asked, '/consent'));
      expect(answer).toMatchObject({ scope: 'openid email' });
      expect(decodeJwt(String(answer['access_token']))).toMatchObject({ scope: 'openid email' });
      expect(decodeJwt(String(answer['id_token']))).toMatchObject({ nonce: 'n' });
      // What was shown is remembered, and nothing else is.
      expect(await silently(world(), browser, { scope: 'openid email' })).toBe('signed in');
      expect(await silently(world(), browser, { scope: 'openid email profile' })).toBe('consent_required');
      for (const [method, fields] of STARTS.filter(([, one]) => !('prompt' in one))) {
        const page = await openRequest(world(), browser, fields, method);
        expect(answerOf(page), JSON.stringify([method, fields])).toHaveProperty('code');
      }
      expect(answerOf(await openRequest(world(), browser, { prompt: 'none' }))).toHaveProperty('code');
    });

    it('AC-08: means the default_scopes of the API that a person’s request names, and not those of the client', async () => {
      const browser = newBrowser(world());
      const asked = await signInAs(
        browser,
        await openRequest(world(), browser, { resource: API, nonce: 'n' }),
        'bob',
      );
      expect(itemsOf(asked)).toEqual(['reports.read']);
      const answer = await exchangeAt(world(), await browser.submit(asked, '/consent'));
      expect(answer).toMatchObject({ scope: 'reports.read' });
      const { aud, scope } = decodeJwt(String(answer['access_token']));
      expect([aud, scope]).toEqual([API, 'reports.read']);
    });

    it.each([
      ['AC-08', 'svc', { resource: API }, API, 'reports.read'],
      ['AC-08', 'svc', { resource: OTHER_API }, 'invalid_scope', undefined],
      ['AC-08', 'post', { resource: API }, 'invalid_target', undefined],
      ['AC-08', 'post', { resource: OTHER_API }, OTHER_API, 'other.read other.write'],
      ['AC-08', 'with-default', { resource: API }, API, 'reports.read'],
      ['AC-08', 'with-default', { resource: OTHER_API }, OTHER_API, 'other.read'],
      ['AC-08', 'with-default', { resource: BARE }, BARE, undefined],
      ['AC-08', 'in-part', { resource: API }, 'invalid_scope', undefined],
      ['AC-09', 'post', {}, OTHER_API, 'other.read other.write'],
      ['AC-09', 'svc', {}, 'invalid_scope', undefined],
      ['AC-09', 'with-default', {}, OTHER_API, 'other.read'],
      ['AC-09', 'in-part', {}, API, 'reports.write'],
    ] as const)('%s: of %s, asking with %j, gives %s and %s', async (_id, id, fields, wanted, scope) => {
      for (const empty of EMPTY) {
        const { body } = await asMachine(world(), id, { ...fields, ...empty });
        const jwt = body['access_token'];
        const claims = typeof jwt === 'string' ? decodeJwt(jwt) : undefined;
        expect([claims?.aud ?? body['error'], claims?.['scope']]).toEqual([wanted, scope]);
        if (claims) expect(body['scope']).toBe(scope);
      }
    });

    it('at the exchange and at a refresh is what was granted', async () => {
      const { tokens } = await signIn(world(), { scope: 'openid profile offline_access' });
      expect(tokens.scope).toBe('openid profile offline_access');
      let token = tokens.refresh_token;
      for (const empty of EMPTY) {
        const { body } = await refresh(world(), token, empty);
        expect(body['scope']).toBe('openid profile offline_access');
        token = String(body['refresh_token']);
      }
    });
  },
  { config: CONFIG },
);

describe('a default that the client does not own whole', () => {
  const world = useWorld({
    config: {
      ...CONFIG,
      resources: [
        {
          resource: API,
          scopes: ['reports.read', 'reports.write'],
          default_scopes: ['reports.read', 'reports.write'],
        },
        { resource: OTHER_API, scopes: ['other.read', 'other.write'] },
      ],
    },
  });

  it('AC-11: is invalid_scope, not a part of it and not the default of the client', async () => {
    const page = await openRequest(world(), newBrowser(world()), { resource: API });
    expect(answerOf(page)).toMatchObject({ error: 'invalid_scope', state: 'state-of-the-client' });
    const { body } = await asMachine(world(), 'in-part', { resource: API });
    expect(body).toMatchObject({ error: 'invalid_scope', scope: 'reports.read' });
  });
});
