// The fast path for introspection of users' tokens and for userinfo against the engine's own answer, which is the reference: tokens in
// every state that a token can reach, on each store, and requests that differ in one thing from a plain one.
import { decodeProtectedHeader } from 'jose';
import { describe, expect, it, vi } from 'vitest';
import { compromiseKey } from '../../../src/keys/ring-actions.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { keyStoreOf } from '../../world/stored.ts';
import { createTurns } from '../../world/turns.ts';
import { clientForm, type GENERATED_SECRETS, type WireRequest } from './both-ways.ts';
import { DEAD, startBothStates, STORES } from './user-tokens.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useStarted } from '../../world/started.ts';

const USERINFO = '/oauth/userinfo';

type Caller = keyof typeof GENERATED_SECRETS;

/** Tokens for which introspection answers on the fast path, by the client that may introspect them. */
const INTROSPECTED = {
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

/** Tokens for which userinfo answers on the fast path. */
const LIVE = [
  'live',
  'refreshed',
  'named',
  'of the session',
  'for userinfo',
  'of a public client',
  'narrowed',
  'kept',
  'outlives its session',
  'of a later sign-in',
];
/** Tokens that userinfo doesn't accept. */
const OTHERS = ['emptied', 'for one resource', 'refresh'];

/** Each differs from a plain request of userinfo in one thing. */
const UNUSUAL: Readonly<Record<string, (jwt: string) => Partial<WireRequest>>> = {
  'a scheme in small letters': (jwt) => ({ headers: ['Authorization', `bearer ${jwt}`] }),
  'two spaces': (jwt) => ({ headers: ['Authorization', `Bearer  ${jwt}`] }),
  'another scheme': (jwt) => ({ headers: ['Authorization', `DPoP ${jwt}`] }),
  'no token': () => ({ headers: [] }),
  'an empty token': () => ({ headers: ['Authorization', 'Bearer '] }),
  'a changed signature': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt.slice(0, -6)}AAAAAA`] }),
  'no JWT': () => ({ headers: ['Authorization', 'Bearer made-up'] }),
  'the header twice': (jwt) => ({
    headers: ['Authorization', `Bearer ${jwt}`, 'Authorization', `Bearer ${jwt}`],
  }),
  'the token in the query too': (jwt) => ({ target: `${USERINFO}?access_token=${jwt}` }),
  'a scope in the query': () => ({ target: `${USERINFO}?scope=openid` }),
  'a question mark': () => ({ target: `${USERINFO}?` }),
  'an origin': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'Origin', 'https://spa.example'] }),
  'a proof': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'DPoP', 'eyJ'] }),
  'a body of no bytes': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'Content-Length', '0'] }),
  HEAD: () => ({ method: 'HEAD' }),
  POST: () => ({ method: 'POST' }),
  'two hosts': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'Host', 'evil.example'] }),
};

describe.each(Object.entries(STORES))('the token of a user, on %s', (_name, startStore) => {
  standingClock();
  const turns = { fast: createTurns(), engine: createTurns() };
  const states = useStarted(() => startBothStates(startStore, turns));

  const about = (name: string, caller: Caller, hint?: string) =>
    states().both.ask((side) => question(states().tokens[side][name] ?? '', caller, hint));

  const EVERY = [...Object.values(INTROSPECTED).flat(), ...DEAD, 'refresh'];
  it.each(EVERY)('IS-01: introspection of `%s` is as the engine’s for each client', async (name) => {
    moveClock(MINUTE + 1);
    for (const caller of ['rs1', 'svc', 'web', 'post'] as const) {
      for (const hint of HINTS) {
        const { seen } = await about(name, caller, hint);
        expect(seen[0], `${caller} about ${name}, hint ${hint}`).toEqual(seen[1]);
      }
    }
    await states().both.expectSameCounts();
  });

  it('IS-01: a live token is answered without the engine, a dead one by the engine', async () => {
    for (const [caller, names] of Object.entries(INTROSPECTED) as [Caller, readonly string[]][]) {
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

  const ask = (name: string, change: (jwt: string) => Partial<WireRequest> = () => ({})) =>
    states().both.ask((side) => userinfoRequest(states().tokens[side][name] ?? '', change));

  async function expectSameCounts(): Promise<void> {
    const [fast, engine] = states().both.sides;
    await states().both.expectSameCounts();
    expect(await fast.metrics()).toEqual(await engine.metrics());
  }

  it.each(LIVE)('Spec §4 GET /oauth/userinfo: answers for `%s` as the engine does', async (name) => {
    const { seen, isFast } = await ask(name);
    expect([isFast, seen[0].status], name).toEqual([true, 200]);
    expect(seen[0]).toEqual(seen[1]);
    await expectSameCounts();
  });

  it.each([...DEAD, ...OTHERS])('userinfo refuses the token `%s` as the engine would', async (name) => {
    moveClock(MINUTE + 1);
    const { seen } = await ask(name);
    expect(seen[0].status, name).toBeGreaterThan(400);
    expect(seen[0]).toEqual(seen[1]);
    await expectSameCounts();
  });

  it.each(Object.entries(UNUSUAL))('userinfo with %s: as the engine would', async (_what, change) => {
    moveClock(MINUTE + 1);
    const { seen } = await ask('live', change);
    expect(seen[0]).toEqual(seen[1]);
    await expectSameCounts();
  });

  it("IS-31: where the store can't be asked the answer is the same 503, and counted the same", async () => {
    moveClock(MINUTE + 1);
    for (const use of [() => about('live', 'rs1'), () => ask('live')]) {
      for (const part of ['records', 'documents'] as const) {
        const stubs = states().both.sides.map(({ world: { openedStore } }) =>
          part === 'records'
            ? vi.spyOn(openedStore.records, 'find').mockRejectedValue(new StoreUnavailable())
            : vi.spyOn(openedStore.documents, 'get').mockRejectedValue(new StoreUnavailable()),
        );
        const { seen } = await use();
        expect([seen[0].status, seen[0]], part).toEqual([503, seen[1]]);
        for (const stub of stubs) stub.mockRestore();
      }
      const again = await use();
      expect([again.isFast, again.seen[0].status]).toEqual([true, 200]);
    }
    await expectSameCounts();
  });

  it('userinfo beyond the limit of the address is refused and counted alike', async () => {
    moveClock(MINUTE + 1);
    const statuses: number[] = [];
    for (let count = 0; count < 24; count += 1) {
      const { seen } = await ask('live');
      expect(seen[0]).toEqual(seen[1]);
      statuses.push(seen[0].status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(200), ...Array<number>(4).fill(429)]);
    await expectSameCounts();
  });

  it('KY-19: a token of a key that was compromised is dead at once, either way', async () => {
    moveClock(MINUTE + 1);
    for (const [index, way] of (['fast', 'engine'] as const).entries()) {
      const { kid = '' } = decodeProtectedHeader(states().tokens[index]?.['live'] ?? '');
      const store = states().both.sides[index]?.world.openedStore;
      if (store !== undefined) await compromiseKey(keyStoreOf(store), kid);
      await turns[way].turn();
    }
    states().both.forget();
    const { seen, isFast } = await about('live', 'rs1');
    expect([isFast, seen[0].text, seen[0]]).toEqual([false, '{"active":false}', seen[1]]);
  });
});

const HINTS = [undefined, 'access_token', 'refresh_token'];

const question = (token: string, caller: Caller, hint?: string) =>
  clientForm('/oauth/introspect', caller, { token, ...(hint !== undefined && { token_type_hint: hint }) });

function userinfoRequest(jwt: string, change: (jwt: string) => Partial<WireRequest>): WireRequest {
  const plain = { method: 'GET', target: USERINFO, headers: ['Authorization', `Bearer ${jwt}`] };
  const { headers, ...changed } = { ...plain, body: Buffer.alloc(0), ...change(jwt) };
  return { ...changed, headers: [...headers, 'X-Forwarded-For', '10.9.0.1'] };
}
