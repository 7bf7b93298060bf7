// The fast path for refreshes against the engine's own answer, which is the reference: refresh tokens in every state that a token can
// reach, on each store, and what is stored and works afterwards.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { recordKey } from '../../../src/oidc/record-payload.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { type AuthorizeOptions, signIn } from '../../world/app.ts';
import { type BothWays, clientForm, GENERATED_WORLD, startBothWays, withoutIds } from './both-ways.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { revoke } from '../../world/presented-tokens.ts';
import type { RedisServer } from '../../world/servers.ts';
import { hashOf } from '../../world/stored.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { createTurns } from '../../world/turns.ts';
import { PERSON1, STORES } from './user-tokens.ts';
import { API, type OpenWorld, PEOPLE, type World } from '../../world/world.ts';

const PATH = '/oauth/token';
const OFFLINE = 'openid email offline_access reports.read';

type Client = 'web' | 'post';
type Tokens = Readonly<Record<string, string>>;

const STAFF = ['staff'];

/** `post` gets fewer scopes and reads its claims from the ID token; `web2` is removed; the staff-only access is added later. */
function refreshSettings(isAfter: boolean) {
  const [api, other] = GENERATED_WORLD.resources;
  const rules = [{ scope_groups: { 'reports.write': STAFF } }, { access: { groups: STAFF } }];
  const changes: Readonly<Record<string, object>> = {
    web: { scope: 'openid email profile offline_access reports.read reports.write other.read' },
    post: {
      id_token_claims: 'full',
      rate_limits: { token: '12/1m' },
      scope: isAfter ? 'openid email offline_access' : 'openid email offline_access reports.read',
    },
  };
  const clients = GENERATED_WORLD.clients
    .filter(({ client_id: id }) => !isAfter || id !== 'web2')
    .map((client) => ({ ...client, ...changes[client.client_id] }));
  return {
    ...GENERATED_WORLD,
    lifetimes: { access_token: '1h', refresh_token: '1d' },
    groups: { staff: 'Employees' },
    resources: [api, other].map((one, index) => ({ ...one, ...(isAfter && rules[index]) })),
    clients,
  };
}

async function refreshTokenOf(world: World, options: AuthorizeOptions = {}): Promise<string> {
  const { tokens } = await signIn(world, { scope: OFFLINE, ...options });
  return String(tokens.refresh_token);
}

async function earlyRefreshTokens(world: World): Promise<Tokens> {
  return {
    narrowed: await refreshTokenOf(world, { client: 'post' }),
    'client gone': await refreshTokenOf(world, { client: 'web2' }),
    'thinned by a rule': await refreshTokenOf(world, { scope: `${OFFLINE} reports.write` }),
    'denied by a rule': await refreshTokenOf(world, { scope: 'openid offline_access other.read' }),
    'person removed': await refreshTokenOf(world, { person: 'person2' }),
  };
}

async function lateRefreshTokens(world: OpenWorld): Promise<Tokens> {
  const replayed = await refreshTokenOf(world);
  await refresh(world, replayed);
  const revoked = await refreshTokenOf(world);
  await revoke(world, revoked);
  const disabled = await refreshTokenOf(world, { person: 'bob' });
  const voided = await refreshTokenOf(world, { person: 'person1' });
  const states = createAccountStates(world.openedStore.documents);
  await states.update(PERSON1, { validAfter: 1 });
  await states.update(PEOPLE.bob, { disabled: true });
  return {
    live: await refreshTokenOf(world),
    spare: await refreshTokenOf(world),
    'without openid': await refreshTokenOf(world, { scope: 'offline_access reports.read' }),
    'for userinfo': await refreshTokenOf(world, { scope: 'openid email offline_access' }),
    'with full ID tokens': await refreshTokenOf(world, {
      client: 'post',
      scope: 'openid email offline_access',
    }),
    'for one resource': await refreshTokenOf(world, { parameters: { resource: API } }),
    'of a public client': await refreshTokenOf(world, { client: 'spa' }),
    replayed,
    revoked,
    'person disabled': disabled,
    'person’s everything ended': voided,
    'made up': 'x'.repeat(43),
  };
}

/** The refreshes that need no engine, by client. */
const PLAIN: Readonly<Record<string, Client>> = {
  live: 'web',
  'without openid': 'web',
  'for userinfo': 'web',
  'with full ID tokens': 'post',
  narrowed: 'post',
};
const OTHERS = [
  'for one resource',
  'of a public client',
  'client gone',
  'thinned by a rule',
  'denied by a rule',
  'person removed',
  'replayed',
  'revoked',
  'person disabled',
  'person’s everything ended',
  'made up',
];

describe.each(Object.entries(STORES))('a plain refresh, on %s', (_name, startStore) => {
  standingClock();
  const turns = { fast: createTurns(), engine: createTurns() };
  /** Moves the clock by a minute for the limits; the service checks its keys then, without which it signs nothing. */
  async function nextMinute(): Promise<void> {
    moveClock(MINUTE + 1);
    await Promise.all([turns.fast.turn(), turns.engine.turn()]);
  }
  let server: RedisServer | undefined;
  let both: BothWays;
  /** The newest refresh token of each chain, on each side. */
  let chains: readonly [Record<string, string>, Record<string, string>];

  beforeAll(async () => {
    server = await startStore();
    let crowd = 2;
    both = await startBothWays(refreshSettings(false), '', (way) => ({
      rotationTimer: turns[way].timer,
      crowd,
      ...(server && { store: `${server.url}/${way === 'fast' ? 0 : 1}` }),
    }));
    const [fast, engine] = [
      await earlyRefreshTokens(both.sides[0].world),
      await earlyRefreshTokens(both.sides[1].world),
    ];
    crowd = 1;
    await both.restart(refreshSettings(true));
    chains = [
      { ...fast, ...(await lateRefreshTokens(both.sides[0].world)) },
      { ...engine, ...(await lateRefreshTokens(both.sides[1].world)) },
    ];
    // A client that isn't known at its address yet goes to the engine.
    for (const client of ['web', 'post'] as const) {
      await both.ask(() => question('made up', client));
    }
    both.forget();
  });
  afterAll(async () => {
    await both.stop();
    await server?.stop();
  });

  async function ask(name: string, client: Client, more?: Readonly<Record<string, string>>) {
    const asked = await both.ask((side) => question(chains[side][name] ?? '', client, more));
    for (const side of [0, 1] as const) {
      const { refresh_token: next } = JSON.parse(both.sides[side].lastBody) as { refresh_token?: string };
      if (next !== undefined) chains[side][name] = next;
    }
    return asked;
  }

  it.each(Object.entries(PLAIN))('RT-01: `%s` is refreshed as by the engine', async (name, client) => {
    for (let turn = 1; turn <= 3; turn += 1) {
      await nextMinute();
      const { seen, isFast } = await ask(name, client);
      expect([isFast, seen[0].status], name).toEqual([true, 200]);
      expect(seen[0], name).toEqual(seen[1]);
      const stored = await Promise.all([0, 1].map((side) => storedOf(side as 0 | 1, name)));
      expect(stored[0]).toEqual(stored[1]);
      expect(stored[0]).toMatchObject({ rotations: turn, gty: 'authorization_code refresh_token' });
    }
    await both.expectSameCounts();
  });

  it.each([...Object.keys(PLAIN), ...OTHERS])('RT-01: for `%s`, answers match the engine', async (name) => {
    for (const client of ['web', 'post'] as const) {
      await nextMinute();
      const { seen } = await ask(name, client);
      expect(seen[0], `${client}, ${name}`).toEqual(seen[1]);
      const narrower = await ask(name, client, { scope: 'openid' });
      expect([narrower.isFast, narrower.seen[0]]).toEqual([false, narrower.seen[1]]);
    }
    await both.expectSameCounts();
  });

  it("RT-01: where the store can't be asked the answer is the same 503, and the token is left", async () => {
    await nextMinute();
    const stubs = both.sides.map(({ world: { openedStore } }) =>
      vi.spyOn(openedStore.records, 'find').mockRejectedValue(new StoreUnavailable()),
    );
    const { seen } = await ask('spare', 'web');
    expect([seen[0].status, seen[0]]).toEqual([503, seen[1]]);
    for (const stub of stubs) stub.mockRestore();
    const again = await ask('spare', 'web');
    expect([again.isFast, again.seen[0].status]).toEqual([true, 200]);
    await both.expectSameCounts();
  });

  it('RT-01: what the limit of the client refuses leaves the token as it is, either way', async () => {
    await nextMinute();
    const statuses: number[] = [];
    for (let count = 0; count < 16; count += 1) {
      const { seen } = await ask('with full ID tokens', 'post');
      expect(seen[0]).toEqual(seen[1]);
      statuses.push(seen[0].status);
    }
    expect(statuses).toEqual([...Array<number>(12).fill(200), ...Array<number>(4).fill(429)]);
    await nextMinute();
    const { seen, isFast } = await ask('with full ID tokens', 'post');
    expect([isFast, seen[0].status]).toEqual([true, 200]);
    await both.expectSameCounts();
  });

  async function storedOf(side: 0 | 1, name: string): Promise<object> {
    const { openedStore } = both.sides[side].world;
    const key = recordKey(await hashOf(openedStore), 'RefreshToken', chains[side][name] ?? '');
    const record = await openedStore.records.find('RefreshToken', key);
    return JSON.parse(withoutIds(record?.payload ?? '{}')) as object;
  }
});

const question = (token: string, client: Client, more: Readonly<Record<string, string>> = {}) =>
  clientForm(PATH, client, { grant_type: 'refresh_token', refresh_token: token, ...more });
