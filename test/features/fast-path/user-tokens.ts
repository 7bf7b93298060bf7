// Users' tokens in every state that a token can reach, on two equal services: requests to the second go through the engine.
import { createAccountStates } from '../../../src/users/account-state.ts';
import { authorize, type AuthorizeOptions, exchange, signIn } from '../../world/app.ts';
import { MINUTE, moveClock } from '../../world/clock.ts';
import { newBrowser, signOut } from '../../world/person.ts';
import { revoke } from '../../world/presented-tokens.ts';
import { type RedisServer, startRedis } from '../../world/servers.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import type { createTurns } from '../../world/turns.ts';
import { API, type OpenWorld, PEOPLE, type World } from '../../world/world.ts';
import { type BothWays, GENERATED_WORLD, startBothWays } from './both-ways.ts';

const OFFLINE = 'openid offline_access reports.read';

type Tokens = Readonly<Record<string, string>>;

const WEB = { scope: 'openid email profile offline_access reports.read other.read' };

/** `web` may also use the other API, which may read names. */
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

/** Issues tokens before the clients and users in the file change. */
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

async function lateTokens(world: OpenWorld): Promise<Tokens> {
  const browser = newBrowser(world);
  /** Signs in with a new browser, because revoking one of these tokens revokes its grant. */
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
  // A new generation voids tokens of an earlier one, whatever its time.
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

export const PERSON1 = `usr_${'1'.padStart(20, '0')}`;
export const DEAD = [
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

export const STORES: Readonly<Record<string, () => Promise<RedisServer | undefined>>> = {
  lmdb: () => Promise.resolve(undefined),
  redis: () => startRedis(),
};

type Turns = ReturnType<typeof createTurns>;

export type BothStates = Readonly<{
  both: BothWays;
  /** The tokens by name, on each side. */
  tokens: readonly [Tokens, Tokens];
  stop: () => Promise<void>;
}>;

export async function startBothStates(
  startStore: () => Promise<RedisServer | undefined>,
  turns: Readonly<Record<'fast' | 'engine', Turns>>,
): Promise<BothStates> {
  const server = await startStore();
  let crowd = 2;
  const both = await startBothWays(BEFORE, '', (way) => ({
    rotationTimer: turns[way].timer,
    crowd,
    ...(server && { store: `${server.url}/${way === 'fast' ? 0 : 1}` }),
  }));
  const [fast, engine] = [await earlyTokens(both.sides[0].world), await earlyTokens(both.sides[1].world)];
  moveClock(6 * MINUTE);
  crowd = 1;
  await both.restart(AFTER);
  const late = [await lateTokens(both.sides[0].world), await lateTokens(both.sides[1].world)] as const;
  both.forget();
  return {
    both,
    tokens: [
      { ...fast, ...late[0] },
      { ...engine, ...late[1] },
    ],
    async stop() {
      await both.stop();
      await server?.stop();
    },
  };
}
