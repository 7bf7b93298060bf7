// The same code of an authenticator app, typed at once at four processes on one store: one of them signs in.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { begin, idOf, type Person, signInAs, silently } from '../world/person.ts';
import { rounds } from '../world/rounds.ts';
import { factorsOf, giveOneTimeCodes, isSecondStep, newRecoveryCodes } from '../world/second-factors.ts';
import { startTwoProcesses, type TwoProcesses } from '../world/two-processes.ts';
import type { StoreName } from '../world/world.ts';

const ROUNDS = rounds(50, 6);
const REQUEST = { scope: 'openid' };

describe.each<StoreName>(['lmdb', 'redis'])('four processes on %s', (storeName) => {
  let four: TwoProcesses;
  let store: Store;
  beforeAll(async () => {
    const config = { sign_in: { one_time_codes: true, recovery_codes: 10 } };
    four = await startTwoProcesses(storeName, config, {}, { further: 2, crowd: 2 * ROUNDS });
    const lmdb = { engine: 'lmdb', folder: four.store.replace('lmdb:', '') } as const;
    store = await openStore(storeName === 'lmdb' ? lmdb : { engine: 'redis', url: four.store }, () =>
      Date.now(),
    );
  });
  afterAll(async () => {
    await store.close();
    await four.stop();
  });

  /** Passwords first, then the code in a browser at each process at once: how many are signed in. */
  async function race(person: Person, fields: Readonly<Record<string, string>>): Promise<number> {
    const halves = await Promise.all(
      four.nodes.map(async (node) => {
        const { browser, page } = await begin(node, REQUEST);
        const step = await signInAs(browser, page, person);
        expect(isSecondStep(step), step.text).toBe(true);
        return { node, browser, step };
      }),
    );
    const answers = await Promise.all(
      halves.map(async ({ browser, step }) => browser.submit(step, '/code', fields)),
    );
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    const states = await Promise.all(
      halves.map(async ({ node, browser }) => silently(node, browser, REQUEST)),
    );
    return states.filter((state) => state !== 'login_required').length;
  }

  it(`LG-41: one code at all of them at once is one sign-in, in ${ROUNDS} rounds`, async () => {
    const place = { openedStore: store, issuer: four.nodes[0].issuer };
    for (let round = 1; round <= ROUNDS; round += 1) {
      const person = `person${round}` as const;
      const app = await giveOneTimeCodes(place, person);
      expect(await race(person, { code: app.code() }), `round ${round}`).toBe(1);
    }
  });

  it(`MF-24: one recovery code at all of them at once is one sign-in, in ${ROUNDS} rounds`, async () => {
    const place = { openedStore: store, issuer: four.nodes[0].issuer };
    for (let round = 1; round <= ROUNDS; round += 1) {
      const person = `person${ROUNDS + round}` as const;
      const { codes, recoveryCodes } = await newRecoveryCodes(place, person, 2);
      await giveOneTimeCodes(place, person, { recoveryCodes });
      expect(await race(person, { recovery_code: codes[0] ?? '' }), `round ${round}`).toBe(1);
      const { notices } = await (await factorsOf(place)).get(idOf(person));
      expect(notices).toMatchObject([{ what: 'recovery_code_used', left: 1 }]);
    }
  });
});
