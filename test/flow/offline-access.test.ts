// Which apps get a refresh token without prompt=consent, and which by no way.
import { describe, expect, it } from 'vitest';
import { authorize, type AuthorizeOptions, exchange } from '../world/app.ts';
import type { Page } from '../world/browser.ts';
import { begin, codeOf, signInAs } from '../world/person.ts';
import { revoke } from '../world/presented-tokens.ts';
import { changeAccount } from '../world/store-access.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { API, type OpenWorld, PEOPLE, worldClients } from '../world/world.ts';
import { MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { anyStore, useWorld } from '../world/each-store.ts';

const LASTING = 'openid offline_access';
const CONFIG = {
  lifetimes: { consent: '30d' },
  clients: worldClients({
    // With a secret, and on the person's own device all the same.
    web2: { application_type: 'native', redirect_uris: ['https://app2.example/cb'] },
    'first-party': {
      grant_types: ['authorization_code', 'refresh_token'],
      scope: `${LASTING} reports.read`,
    },
  }),
};

type Options = AuthorizeOptions & { readonly prompt?: string };

/** What the app gets, in a browser that may be signed in. */
async function tokens(world: OpenWorld, { prompt = 'none', ...options }: Options) {
  const authorized = await authorize(world, { ...options, parameters: { ...options.parameters, prompt } });
  const error = authorized.callback.searchParams.get('error') ?? undefined;
  if (error !== undefined) return { error, refreshToken: undefined, scope: undefined, ...authorized };
  const { tokens: got } = await exchange(authorized);
  return { error, refreshToken: got.refresh_token, scope: got.scope, ...authorized, got };
}

/** A sign-in without any page between its form and the app. */
async function signInForm(world: OpenWorld) {
  const { browser, page } = await begin(world, { scope: LASTING });
  return {
    submit: () => signInAs(browser, page, 'alice'),
    redeem: async (left: Page) => (await redeem(world, { code: codeOf(left) })).body,
  };
}

anyStore(
  'offline_access without prompt=consent',
  (world) => {
    const log = () => world().recorded.log.filter((line) => line.includes('prompt=consent'));

    it('AC-31: gives the operator’s own app a refresh token, silently too', async () => {
      const asked = { client: 'first-party', scope: LASTING } as const;
      const first = await tokens(world(), { ...asked, prompt: 'login' });
      expect(first.scope).toBe(LASTING);
      const silent = await tokens(world(), { ...asked, browser: first.browser });
      expect(silent.scope).toBe(LASTING);
      const renewed = await refresh(world(), silent.refreshToken, {}, 'first-party');
      expect(renewed.status).toBe(200);
      expect(log()).toEqual([]);
    });

    it('AC-31: gives none to an app that nobody has allowed it, and names the client in the log, once', async () => {
      const first = await tokens(world(), { scope: LASTING, prompt: 'login', person: 'bob' });
      const second = await tokens(world(), { scope: LASTING, browser: first.browser });
      for (const { scope, refreshToken } of [first, second]) {
        expect([scope, refreshToken]).toEqual(['openid', undefined]);
      }
      expect(log().map((line) => (JSON.parse(line) as { clientId: string }).clientId)).toEqual(['web']);
    });

    it('AC-32: gives it where the person allowed it before, until they withdraw it', async () => {
      const first = await tokens(world(), { scope: `${LASTING} email`, prompt: 'consent' });
      const { browser } = first;
      const silent = await tokens(world(), { scope: `${LASTING} email`, browser });
      expect(silent.scope).toBe(`${LASTING} email`.split(' ').toSorted().toReversed().join(' '));
      expect((await refresh(world(), silent.refreshToken)).status).toBe(200);
      // Fewer scopes, in a browser that the person signs in with only now.
      const form = await signInForm(world());
      expect(await form.redeem(await form.submit())).toHaveProperty('refresh_token');

      const token = String(first.refreshToken);
      await revoke(world(), token);
      expect((await tokens(world(), { scope: LASTING, browser })).error).toBe('consent_required');
      const anew = await tokens(world(), { scope: LASTING, prompt: 'login', browser });
      expect([anew.scope, anew.refreshToken]).toEqual(['openid', undefined]);
      const after = await tokens(world(), { scope: LASTING, browser });
      expect([after.scope, after.refreshToken]).toEqual(['openid', undefined]);
    });

    it('AC-32: gives none for a scope or an API that was not allowed together with it', async () => {
      const person = 'bob';
      const { browser } = await tokens(world(), { scope: LASTING, prompt: 'consent', person });
      await tokens(world(), { scope: 'openid email reports.read', prompt: 'login', person, browser });
      for (const scope of ['email', 'reports.read']) {
        const more = await tokens(world(), { scope: `${LASTING} ${scope}`, browser });
        expect([more.scope, more.refreshToken]).toEqual([`openid ${scope}`, undefined]);
      }
      const scope = `${LASTING} reports.read`;
      const parameters = { resource: API };
      expect((await tokens(world(), { scope, browser, parameters })).error).toBe('consent_required');
      await tokens(world(), { scope: 'openid reports.read', prompt: 'login', person, browser, parameters });
      expect((await tokens(world(), { scope, browser, parameters })).refreshToken).toBeUndefined();
      await tokens(world(), { scope, prompt: 'consent', browser, parameters });
      expect((await tokens(world(), { scope, browser, parameters })).refreshToken).toMatch(/^[\w-]{43}$/);
      expect((await tokens(world(), { scope, browser })).refreshToken).toBeUndefined();
    });

    it.each([
      ['a public client', 'spa', LASTING],
      ['a native app with a secret', 'web2', 'interaction_required'],
      ['a native app', 'native', 'interaction_required'],
    ] as const)('AZ-25: gives none to %s that was allowed it', async (_who, client, outcome) => {
      const first = await tokens(world(), { client, scope: LASTING, prompt: 'consent' });
      expect(first.refreshToken).toMatch(/^[\w-]{43}$/);
      const silent = await tokens(world(), { client, scope: LASTING, browser: first.browser });
      expect(silent.refreshToken).toBeUndefined();
      expect(silent.error ?? silent.scope).toBe(outcome === LASTING ? 'openid' : outcome);
      const asked = await tokens(world(), {
        client,
        scope: LASTING,
        prompt: 'login',
        browser: first.browser,
      });
      expect([asked.scope, asked.refreshToken]).toEqual(['openid', undefined]);
    });
  },
  { config: CONFIG },
);

describe('offline_access that was allowed before', () => {
  standingClock();
  const config = { ...CONFIG, lifetimes: { consent: '4m' } };
  const world = useWorld({ config });

  it('AC-32: ends with a person who is disabled, and does not come back with them', async () => {
    await tokens(world(), { scope: LASTING, prompt: 'consent', person: 'bob' });
    await changeAccount(world(), PEOPLE.bob, { validAfter: Math.floor(Date.now() / 1000) + 1 });
    moveClock(10);
    const back = await tokens(world(), { scope: LASTING, prompt: 'login', person: 'bob' });
    expect([back.scope, back.refreshToken]).toEqual(['openid', undefined]);
  });

  it('AC-32: is refused to a client that lost its secret while the person was signing in', async () => {
    await tokens(world(), { scope: LASTING, prompt: 'consent' });
    const form = await signInForm(world());
    const clients = CONFIG.clients.map((client) => {
      if (client.client_id !== 'web') return client;
      const { client_secret: _secret, ...rest } = client as typeof client & { client_secret: string };
      return { ...rest, token_endpoint_auth_method: 'none' };
    });
    await world().reload({ ...config, clients });
    const left = await form.submit();
    await world().reload(config);
    const body = await form.redeem(left);
    expect([body['scope'], body['refresh_token']]).toEqual(['openid', undefined]);
  });

  it('AC-32: ends with the memory of the consent, also in a session that lasts', async () => {
    const { browser } = await tokens(world(), { scope: LASTING, prompt: 'consent' });
    moveClock(4 * MINUTE + 1);
    const { scope, refreshToken } = await tokens(world(), { scope: LASTING, prompt: 'login', browser });
    expect([scope, refreshToken]).toEqual(['openid', undefined]);
  });
});
