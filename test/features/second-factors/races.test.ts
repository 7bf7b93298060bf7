// The same proof at once at four processes on one store: one of them wins.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { type Page } from '../../world/browser.ts';
import { enterPassword, silently, type User } from '../../world/person.ts';
import { rounds } from '../../world/rounds.ts';
import {
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newRecoveryCodes,
  ownFactors,
} from '../../world/second-factors.ts';
import { startTwoProcesses, type TwoProcesses } from '../../world/two-processes.ts';
import type { StoreName, World } from '../../world/world.ts';

const ROUNDS = rounds(50, 3);
const REQUEST = { scope: 'openid' };

describe.each<StoreName>(['lmdb', 'redis'])('four processes on %s', (storeName) => {
  let four: TwoProcesses;
  let store: Store;
  beforeAll(async () => {
    const config = { sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 } };
    four = await startTwoProcesses(storeName, config, {}, { further: 2, crowd: 3 * ROUNDS });
    const lmdb = { engine: 'lmdb', folder: four.store.replace('lmdb:', '') } as const;
    store = await openStore(storeName === 'lmdb' ? lmdb : { engine: 'redis', url: four.store }, () =>
      Date.now(),
    );
  });
  afterAll(async () => {
    await store.close();
    await four.stop();
  });

  /** Sends passwords first, then the proof from a browser at each process at once; counts the signed-in browsers. */
  async function race(
    person: User,
    fieldsFor: (step: Page, node: World) => Readonly<Record<string, string>>,
    form = '/code',
  ): Promise<number> {
    const halves = await Promise.all(
      four.nodes.map(async (node) => {
        const { browser, page: step } = await enterPassword(node, REQUEST, { person });
        expect(isSecondStep(step), step.text).toBe(true);
        return { node, browser, step };
      }),
    );
    const answers = await Promise.all(
      halves.map(async ({ node, browser, step }) => browser.submit(step, form, fieldsFor(step, node))),
    );
    const states = await Promise.all(
      halves.map(async ({ node, browser }) => silently(node, browser, REQUEST)),
    );
    const signedIn = states.filter((state) => state !== 'login_required').length;
    // Two winners are an error, whatever else failed.
    if (signedIn < 2) expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    return signedIn;
  }

  const place = () => ({ openedStore: store, issuer: four.nodes[0].issuer });
  const PROOFS = {
    'LG-41: one code': async (person: User) => {
      const app = await giveOneTimeCodes(place(), person);
      return race(person, () => ({ code: app.code() }));
    },
    'MF-24: one recovery code': async (person: User) => {
      const { codes, recoveryCodes } = await newRecoveryCodes(place(), person, 2);
      await giveOneTimeCodes(place(), person, { recoveryCodes });
      return race(person, () => ({ recovery_code: codes[0] ?? '' }));
    },
    'MF-07: one counter of a passkey': async (person: User) => {
      const key = await givePasskey(place(), person);
      const answer = (step: Page, node: World) => ({ response: key.assert(node, step, { counter: 8 }) });
      return race(person, answer, '/passkey');
    },
  };
  /** The remaining recovery codes, and the state of the passkey. */
  const LEFT: readonly object[] = [
    {},
    { notices: [{ what: 'recovery_code_used', left: 1 }] },
    { passkeys: [{ counter: 8 }] },
  ];

  it.each(Object.entries(PROOFS).map(([what, prove], index) => ({ what, prove, index })))(
    `$what at all of them at once is one sign-in, in ${ROUNDS} rounds`,
    async ({ prove, index }) => {
      for (let round = 1; round <= ROUNDS; round += 1) {
        const person = `person${index * ROUNDS + round}` as const;
        expect(await four.unlessLate(() => prove(person)), `round ${round}`).toBe(1);
        expect(await ownFactors(place(), person)).toMatchObject(LEFT[index] ?? {});
      }
    },
  );
});
