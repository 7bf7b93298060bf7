// The fast path for introspection of users' tokens against the engine's own answer, which is the reference: tokens in every state
// that a token can reach, on each store, introspected by each kind of client.
import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { compromiseKey } from '../../../src/keys/ring-actions.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { keyStoreOf } from '../../world/stored.ts';
import { createTurns } from '../../world/turns.ts';
import { clientForm, type GENERATED_SECRETS } from './both-ways.ts';
import { type BothStates, DEAD, startBothStates, STORES } from './user-tokens.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';

const PATH = '/oauth/introspect';

type Caller = keyof typeof GENERATED_SECRETS;

/** Tokens for which the fast path answers, by the client that may introspect them. */
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
describe.each(Object.entries(STORES))('introspection of a person’s token, on %s', (_name, startStore) => {
  standingClock();
  const turns = { fast: createTurns(), engine: createTurns() };
  let states: BothStates;

  beforeAll(async () => {
    states = await startBothStates(startStore, turns);
  });
  afterAll(() => states.stop());

  const about = (name: string, caller: Caller, hint?: string) =>
    states.both.ask((side) => question(states.tokens[side][name] ?? '', caller, hint));

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
      await states.both.expectSameCounts();
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
      const stubs = states.both.sides.map(({ world: { openedStore } }) =>
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
    await states.both.expectSameCounts();
  });

  it('KY-19: a token of a key that was compromised is dead at once, either way', async () => {
    moveClock(MINUTE + 1);
    for (const [index, way] of (['fast', 'engine'] as const).entries()) {
      const { kid = '' } = decodeProtectedHeader(states.tokens[index]?.['live'] ?? '');
      const store = states.both.sides[index]?.world.openedStore;
      if (store !== undefined) await compromiseKey(keyStoreOf(store), kid);
      await turns[way].turn();
    }
    states.both.forget();
    const { seen, isFast } = await about('live', 'rs1');
    expect([isFast, seen[0].text, seen[0]]).toEqual([false, '{"active":false}', seen[1]]);
  });
});

const HINTS = [undefined, 'access_token', 'refresh_token'];

const question = (token: string, caller: Caller, hint?: string) =>
  clientForm(PATH, caller, { token, ...(hint !== undefined && { token_type_hint: hint }) });
