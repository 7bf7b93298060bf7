// The fast path for userinfo against the engine's own answer, which is the reference: tokens in every state that one can reach, on each
// store, and requests that differ in one thing from a plain one.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { createTurns } from '../../world/turns.ts';
import type { WireRequest } from './both-ways.ts';
import { type BothStates, DEAD, startBothStates, STORES } from './user-tokens.ts';

const PATH = '/oauth/userinfo';

/** Tokens for which the fast path answers. */
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

/** Each differs from a plain request in one thing. */
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
  'the token in the query too': (jwt) => ({ target: `${PATH}?access_token=${jwt}` }),
  'a scope in the query': () => ({ target: `${PATH}?scope=openid` }),
  'a question mark': () => ({ target: `${PATH}?` }),
  'an origin': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'Origin', 'https://spa.example'] }),
  'a proof': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'DPoP', 'eyJ'] }),
  'a body of no bytes': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'Content-Length', '0'] }),
  HEAD: () => ({ method: 'HEAD' }),
  POST: () => ({ method: 'POST' }),
  'two hosts': (jwt) => ({ headers: ['Authorization', `Bearer ${jwt}`, 'Host', 'evil.example'] }),
};

describe.each(Object.entries(STORES))('userinfo without the engine, on %s', (_name, startStore) => {
  standingClock();
  let states: BothStates;
  beforeAll(async () => {
    states = await startBothStates(startStore, { fast: createTurns(), engine: createTurns() });
  });
  afterAll(() => states.stop());

  const ask = (name: string, change: (jwt: string) => Partial<WireRequest> = () => ({})) =>
    states.both.ask((side) => userinfoRequest(states.tokens[side][name] ?? '', change));

  async function expectSameCounts(): Promise<void> {
    const [fast, engine] = states.both.sides;
    await states.both.expectSameCounts();
    expect(await fast.metrics()).toEqual(await engine.metrics());
  }

  it.each(LIVE)(
    'Spec §4 GET /oauth/userinfo: gives for the token `%s` what the engine would',
    async (name) => {
      const { seen, isFast } = await ask(name);
      expect([isFast, seen[0].status], name).toEqual([true, 200]);
      expect(seen[0]).toEqual(seen[1]);
      await expectSameCounts();
    },
  );

  it.each([...DEAD, ...OTHERS])('refuses the token `%s` as the engine would', async (name) => {
    moveClock(MINUTE + 1);
    const { seen } = await ask(name);
    expect(seen[0].status, name).toBeGreaterThan(400);
    expect(seen[0]).toEqual(seen[1]);
    await expectSameCounts();
  });

  it.each(Object.entries(UNUSUAL))('answers a request with %s as the engine would', async (_what, change) => {
    moveClock(MINUTE + 1);
    const { seen } = await ask('live', change);
    expect(seen[0]).toEqual(seen[1]);
    await expectSameCounts();
  });

  it("where the store can't be asked the answer is the same 503, and counted the same", async () => {
    moveClock(MINUTE + 1);
    for (const part of ['records', 'documents'] as const) {
      const stubs = states.both.sides.map(({ world: { openedStore } }) =>
        part === 'records'
          ? vi.spyOn(openedStore.records, 'find').mockRejectedValue(new StoreUnavailable())
          : vi.spyOn(openedStore.documents, 'get').mockRejectedValue(new StoreUnavailable()),
      );
      const { seen } = await ask('live');
      expect([seen[0].status, seen[0]], part).toEqual([503, seen[1]]);
      for (const stub of stubs) stub.mockRestore();
    }
    expect((await ask('live')).isFast).toBe(true);
    await expectSameCounts();
  });

  it('what the limit of the address refuses is refused and counted alike', async () => {
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
});

function userinfoRequest(jwt: string, change: (jwt: string) => Partial<WireRequest>): WireRequest {
  const plain = { method: 'GET', target: PATH, headers: ['Authorization', `Bearer ${jwt}`] };
  const { headers, ...changed } = { ...plain, body: Buffer.alloc(0), ...change(jwt) };
  return { ...changed, headers: [...headers, 'X-Forwarded-For', '10.9.0.1'] };
}
