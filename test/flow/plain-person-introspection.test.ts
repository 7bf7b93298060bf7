// The fast path for introspection of people's tokens against the engine's own answer, which is the reference: tokens in every state
// that one can come to, on each store, asked about by each kind of client.
import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { compromiseKey } from '../../src/keys/ring-actions.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { createAccountStates } from '../../src/users/account-state.ts';
import { authorize, type AuthorizeOptions, exchange, signIn } from '../world/app.ts';
import type { Browser } from '../world/browser.ts';
import { newBrowser } from '../world/person.ts';
import { revoke } from '../world/presented-tokens.ts';
import { keyStoreOf } from '../world/stored.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { createTurns } from '../world/turns.ts';
import { API, type OpenWorld, PEOPLE, type World } from '../world/world.ts';
import {
  type BothWays,
  formHeaders,
  GENERATED_SECRETS,
  GENERATED_WORLD,
  startBothWays,
  type WireRequest,
} from '../world/both-ways.ts';
import { MINUTE, moveClock, standingClock, until } from '../world/clock.ts';
import { startRedis } from '../world/servers.ts';

const PATH = '/oauth/introspect';
const OFFLINE = 'openid offline_access reports.read';

type Caller = keyof typeof GENERATED_SECRETS;
type Tokens = Readonly<Record<string, string>>;

const WEB = { scope: 'openid email profile offline_access reports.read other.read' };

/** `web` may use the other API too, which may see names. */
function settings(changed: Readonly<Record<string, object | undefined>>, ofOther: object = {}) {
  const [api, other] = GENERATED_WORLD.resources;
  const clients = GENERATED_WORLD.clients
    .filter(({ client_id: id }) => !(id in changed) || changed[id] !== undefined)
    .map((client) => ({ ...client, ...(client.client_id === 'web' && WEB), ...changed[client.client_id] }));
  const seeing = { introspection_clients: ['rs1'] };
  return {
    ...GENERATED_WORLD,
    lifetimes: { access_token: '12h' },
    resources: [api, { ...other, ...seeing, ...ofOther }],
    clients,
  };
}
const BEFORE = settings({});
const AFTER = settings(
  { post: { scope: 'openid offline_access' }, web2: undefined },
  { access_token: '12h' },
);

const tokenOf = async (world: World, options: AuthorizeOptions) =>
  (await signIn(world, options)).tokens.access_token;

/** Issued before the clients and the people of the file changed. */
async function earlyTokens(world: World): Promise<Tokens> {
  const browser = newBrowser(world);
  return {
    expired: await tokenOf(world, { browser, scope: 'openid offline_access other.read' }),
    narrowed: await tokenOf(world, { browser, client: 'post', scope: OFFLINE }),
    emptied: await tokenOf(world, { browser, client: 'post', scope: 'reports.read' }),
    'client gone': await tokenOf(world, { browser, client: 'web2', scope: OFFLINE }),
    'person removed': await tokenOf(world, { person: 'person2', client: 'web', scope: OFFLINE }),
    kept: await tokenOf(world, { browser, scope: OFFLINE }),
  };
}

async function signOut({ issuer }: World, browser: Browser): Promise<void> {
  const page = await browser.open(`${issuer}/oauth/logout`);
  await browser.submit(page, '/logout/confirm', { logout: 'yes' });
}

async function lateTokens(world: OpenWorld): Promise<Tokens> {
  const browser = newBrowser(world);
  /** In a browser of its own: what ends one of these ends its grant. */
  const signInAnew = () => signIn(world, { scope: OFFLINE });

  const live = await signIn(world, { browser, scope: OFFLINE });
  const refreshed = (await refresh(world, live.tokens.refresh_token)).body;
  const revoked = await signInAnew();
  await revoke(world, revoked.tokens.access_token);
  const family = await signInAnew();
  await revoke(world, family.tokens.refresh_token);
  const replayed = await signInAnew();
  const renewedOnce = (await refresh(world, replayed.tokens.refresh_token)).body;
  await refresh(world, replayed.tokens.refresh_token);
  const twice = await authorize(world, { scope: OFFLINE });
  const redeemed = await exchange(twice);
  await redeem(world, twice);

  const left = newBrowser(world);
  const ended = await tokenOf(world, { browser: left, scope: 'openid reports.read' });
  const outlives = await tokenOf(world, { browser: left, scope: OFFLINE });
  await signOut(world, left);
  await tokenOf(world, { browser: left, person: 'bob', scope: 'openid reports.read' });

  const disabled = await tokenOf(world, { person: 'bob', scope: OFFLINE });
  const states = createAccountStates(world.openedStore.documents);
  const voided = await tokenOf(world, { person: 'person1', scope: OFFLINE });
  // Whatever the time of it: another generation voids what came of an earlier one.
  await states.update(PERSON1, { validAfter: 1 });
  const renewed = await tokenOf(world, { person: 'person1', scope: OFFLINE });
  await states.update(PEOPLE.bob, { disabled: true });
  return {
    live: live.tokens.access_token,
    refresh: String(live.tokens.refresh_token),
    refreshed: String(refreshed['access_token']),
    named: await tokenOf(world, { browser, scope: 'openid profile reports.read' }),
    'of the session': await tokenOf(world, { browser, scope: 'openid reports.read' }),
    'for one resource': await tokenOf(world, { browser, scope: OFFLINE, parameters: { resource: API } }),
    'for the other API': await tokenOf(world, { browser, scope: 'openid offline_access other.read' }),
    'for userinfo': await tokenOf(world, { browser, scope: 'openid email' }),
    'of a public client': await tokenOf(world, { browser, client: 'spa', scope: OFFLINE }),
    revoked: revoked.tokens.access_token,
    'with its refresh token revoked': family.tokens.access_token,
    'of a replayed family': replayed.tokens.access_token,
    'of a replayed code': redeemed.tokens.access_token,
    'refreshed of a replayed family': String(renewedOnce['access_token']),
    'session ended': ended,
    'outlives its session': outlives,
    'person disabled': disabled,
    'person’s everything ended': voided,
    'of a later sign-in': renewed,
  };
}

const PERSON1 = `usr_${'1'.padStart(20, '0')}`;
/** What is answered without the engine, by whom it may be heard. */
const LIVE = {
  rs1: [
    'live',
    'for the other API',
    'refreshed',
    'named',
    'of the session',
    'for one resource',
    'of a public client',
    'kept',
    'outlives its session',
    'of a later sign-in',
  ],
  web: ['live', 'for userinfo'],
  post: ['narrowed', 'emptied'],
};
const DEAD = [
  'expired',
  'client gone',
  'person removed',
  'revoked',
  'with its refresh token revoked',
  'of a replayed family',
  'of a replayed code',
  'refreshed of a replayed family',
  'session ended',
  'person disabled',
  'person’s everything ended',
];

type Server = Awaited<ReturnType<typeof startRedis>>;
const STORES: Readonly<Record<string, () => Promise<Server | undefined>>> = {
  lmdb: () => Promise.resolve(undefined),
  redis: () => startRedis(),
};

describe.each(Object.entries(STORES))('introspection of a person’s token, on %s', (_name, startStore) => {
  standingClock();
  const turns = { fast: createTurns(), engine: createTurns() };
  let server: Server | undefined;
  let both: BothWays;
  let tokens: readonly [Tokens, Tokens];

  beforeAll(async () => {
    server = await startStore();
    let crowd = 2;
    both = await startBothWays(BEFORE, '', (way) => ({
      rotationTimer: turns[way].timer,
      crowd,
      ...(server && { store: `${server.url}/${way === 'fast' ? 0 : 1}` }),
    }));
    const [fast, engine] = [await earlyTokens(both.sides[0].world), await earlyTokens(both.sides[1].world)];
    moveClock(6 * MINUTE);
    crowd = 1;
    await both.restart(AFTER);
    tokens = [
      { ...fast, ...(await lateTokens(both.sides[0].world)) },
      { ...engine, ...(await lateTokens(both.sides[1].world)) },
    ];
    both.forget();
  });
  afterAll(async () => {
    await both.stop();
    await server?.stop();
  });

  const about = (name: string, caller: Caller, hint?: string) =>
    both.ask((side) => question(tokens[side][name] ?? '', caller, hint));

  it.each([...Object.values(LIVE).flat(), ...DEAD, 'refresh'])(
    'IS-01: each client hears of the token `%s` what the engine would tell it',
    async (name) => {
      moveClock(MINUTE + 1);
      for (const caller of ['rs1', 'svc', 'web', 'post'] as const) {
        for (const hint of HINTS) {
          const { seen } = await about(name, caller, hint);
          expect(seen[0], `${caller} about ${name}, hint ${hint}`).toEqual(seen[1]);
        }
      }
      await expectSameCounts();
    },
  );

  it('IS-01: a live token is answered without the engine, a dead one by the engine', async () => {
    for (const [caller, names] of Object.entries(LIVE) as [Caller, readonly string[]][]) {
      for (const name of names) {
        const { seen, isFast } = await about(name, caller);
        expect([isFast, JSON.parse(seen[0].text)], name).toMatchObject([true, { active: true }]);
      }
    }
    for (const name of DEAD) {
      const { seen, isFast } = await about(name, 'rs1');
      expect([isFast, seen[0].text], name).toEqual([false, '{"active":false}']);
    }
  });

  it("IS-31: where the store can't be asked the answer is the same 503, and counted the same", async () => {
    moveClock(MINUTE + 1);
    for (const part of ['records', 'documents'] as const) {
      const stubs = both.sides.map(({ world: { openedStore } }) =>
        part === 'records'
          ? vi.spyOn(openedStore.records, 'find').mockRejectedValue(new StoreUnavailable())
          : vi.spyOn(openedStore.documents, 'get').mockRejectedValue(new StoreUnavailable()),
      );
      const { seen } = await about('live', 'rs1');
      expect([seen[0].status, seen[0]], part).toEqual([503, seen[1]]);
      for (const stub of stubs) stub.mockRestore();
    }
    const again = await about('live', 'rs1');
    expect([again.isFast, again.seen[0].status]).toEqual([true, 200]);
    await expectSameCounts();
  });

  it('KY-19: a token of a key that was compromised is dead at once, either way', async () => {
    moveClock(MINUTE + 1);
    for (const [index, way] of (['fast', 'engine'] as const).entries()) {
      const { kid = '' } = decodeProtectedHeader(tokens[index]?.['live'] ?? '');
      const store = both.sides[index]?.world.openedStore;
      if (store !== undefined) await compromiseKey(keyStoreOf(store), kid, () => Date.now());
      await turns[way].turn();
    }
    both.forget();
    const { seen, isFast } = await about('live', 'rs1');
    expect([isFast, seen[0].text, seen[0]]).toEqual([false, '{"active":false}', seen[1]]);
  });

  async function expectSameCounts(): Promise<void> {
    // Some of it is counted in the background, after the answer.
    const [fast, engine] = both.sides;
    await until(() => expect(fast.counted()).toEqual(engine.counted()));
  }
});

const HINTS = [undefined, 'access_token', 'refresh_token'];

function question(token: string, caller: Caller, hint?: string): WireRequest {
  const [secret = ''] = GENERATED_SECRETS[caller];
  const isInForm = caller === 'post';
  const body = Buffer.from(
    new URLSearchParams({
      token,
      ...(hint !== undefined && { token_type_hint: hint }),
      ...(isInForm && { client_id: caller, client_secret: secret }),
    }).toString(),
  );
  const authorization = isInForm ? [] : ['Authorization', `Basic ${btoa(`${caller}:${secret}`)}`];
  const headers = [...authorization, 'X-Forwarded-For', '10.9.0.1', ...formHeaders(body)];
  return { method: 'POST', target: PATH, headers, body };
}
