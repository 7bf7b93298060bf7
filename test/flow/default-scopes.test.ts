// A request without `scope`: its scopes are set where it starts, and not filled in later. For machines: test/attack/resources.test.ts.
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

const CLIENTS = [
  ...worldClients({ web: { default_scope: 'openid email' } }).filter(({ client_id: id }) =>
    ['web', 'web2', 'first-party', 'rs1'].includes(id),
  ),
  {
    client_id: 'in-part',
    client_secret: 'env:TEST_SVC',
    grant_types: ['client_credentials'],
    scope: 'reports.write',
  },
];
const CONFIG = {
  ...GENEROUS,
  resources: [
    { resource: API, scopes: ['reports.read', 'reports.write'], default_scopes: ['reports.read'] },
    { resource: OTHER_API, scopes: ['other.read', 'other.write'] },
  ],
  clients: CLIENTS,
  lifetimes: { consent: '180d' },
};

type Fields = Readonly<Record<string, string>>;

const asMachine = (world: OpenWorld, id: string, fields: Fields) =>
  post(world, '/oauth/token', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: SECRETS.svc,
    ...fields,
  });

/** Where the request ends without any action of the user. */
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

anyStore('no scope', { config: CONFIG }, (world) => {
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
    // The scopes on the page are remembered, and no others.
    expect(await silently(world(), browser, { scope: 'openid email' })).toBe('signed in');
    expect(await silently(world(), browser, { scope: 'openid email profile' })).toBe('consent_required');
    for (const [method, fields] of STARTS.filter(([, one]) => !('prompt' in one))) {
      const page = await openRequest(world(), browser, fields, method);
      expect(answerOf(page), JSON.stringify([method, fields])).toHaveProperty('code');
    }
    expect(answerOf(await openRequest(world(), browser, { prompt: 'none' }))).toHaveProperty('code');
  });

  it('AC-08: means the default_scopes of the API that a user’s request names, and not those of the client', async () => {
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
});

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
