// Which apps get a refresh token without prompt=consent, and which never get one.
import { describe, expect, it } from 'vitest';
import { authorize, type AuthorizeOptions, exchange } from '../world/app.ts';
import { begin, codeOf, signInAs } from '../world/person.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { type OpenWorld, worldClients } from '../world/world.ts';
import { anyStore, useWorld } from '../world/each-store.ts';

const LASTING = 'openid offline_access';
const CONFIG = {
  lifetimes: { consent: '30d' },
  clients: worldClients({
    // It has a secret, but runs on the user's own device.
    web2: { application_type: 'native', redirect_uris: ['https://app2.example/cb'] },
    'first-party': {
      grant_types: ['authorization_code', 'refresh_token'],
      scope: `${LASTING} reports.read`,
    },
  }),
};

type Options = AuthorizeOptions & { readonly prompt?: string };

/** The tokens that the app gets, in a browser that may be signed in. */
async function tokens(world: OpenWorld, { prompt = 'none', ...options }: Options) {
  const authorized = await authorize(world, { ...options, parameters: { ...options.parameters, prompt } });
  const error = authorized.callback.searchParams.get('error') ?? undefined;
  if (error !== undefined) return { error, refreshToken: undefined, scope: undefined, ...authorized };
  const { tokens: got } = await exchange(authorized);
  return { error, refreshToken: got.refresh_token, scope: got.scope, ...authorized, got };
}

anyStore('offline_access without prompt=consent', { config: CONFIG }, (world) => {
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

  it('AC-31: gives none to an app that wasn’t allowed it, and names the client in the log, once', async () => {
    const first = await tokens(world(), { scope: LASTING, prompt: 'login', person: 'bob' });
    const second = await tokens(world(), { scope: LASTING, browser: first.browser });
    for (const { scope, refreshToken } of [first, second]) {
      expect([scope, refreshToken]).toEqual(['openid', undefined]);
    }
    expect(log().map((line) => (JSON.parse(line) as { clientId: string }).clientId)).toEqual(['web']);
  });

  it.each([
    ['a client with a secret', 'web', LASTING],
    ['a public client', 'spa', LASTING],
    ['a native app with a secret', 'web2', 'interaction_required'],
    ['a native app', 'native', 'interaction_required'],
  ] as const)('AZ-25, AC-32: gives none to %s that was allowed it', async (_who, client, outcome) => {
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
});

describe('offline_access of an app that is no longer the operator’s own', () => {
  const world = useWorld({ config: CONFIG });

  it('AC-32: is refused where that changed while the user was signing in', async () => {
    const client = 'first-party';
    const clients = CONFIG.clients.map((one) =>
      one.client_id === client ? { ...one, consent: 'explicit' } : one,
    );
    const explicit = { ...CONFIG, clients };
    await world().reload(explicit);
    const allowed = await tokens(world(), { client, scope: LASTING, prompt: 'consent' });
    expect(allowed.refreshToken).toBeDefined();
    await world().reload(CONFIG);
    const { browser, page } = await begin(world(), { client_id: client, scope: LASTING });
    await world().reload(explicit);
    const code = codeOf(await signInAs(browser, page, 'alice'));
    const { body } = await redeem(world(), { code, client });
    expect([body['scope'], body['refresh_token']]).toEqual(['openid', undefined]);
  });
});
