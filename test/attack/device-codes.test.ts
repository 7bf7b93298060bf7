// Codes of devices that are guessed, and devices that ask at several processes at once (RFC 8628 §5.1, §3.5).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formOf, type Page } from '../world/browser.ts';
import { askForCodes, DEVICE_CONFIG, isConfirmPage, letIn, poll, postToDevice } from '../world/device.ts';
import { eachStore } from '../world/each-store.ts';
import { newBrowser } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import { rounds } from '../world/rounds.ts';
import { startTwoProcesses, type TwoProcesses } from '../world/two-processes.ts';
import type { OpenWorld, StoreName } from '../world/world.ts';

const GUESSES = { trusted_proxies: ['127.0.0.1'], ...DEVICE_CONFIG };
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const ROUNDS = rounds(50, 6);

let made = 0;
/** Another one each time. */
function madeUpCode(): string {
  made += 1;
  const digits = made.toString(20).padStart(8, '0');
  return digits.replaceAll(/./g, (digit) => LETTERS[Number.parseInt(digit, 20)] ?? '');
}

/** One browser that types codes, from whatever address. */
function guesser(world: OpenWorld): (userCode: string, address: string) => Promise<Page> {
  const browser = newBrowser(world);
  return async (userCode, address) => {
    const { fields } = formOf(await browser.open(`${world.issuer}/device`), '/device');
    return postToDevice(browser, world, `xsrf=${fields['xsrf']}&user_code=${userCode}`, {
      'x-forwarded-for': address,
    });
  };
}

/** `count` made-up codes one after the other; how often each status came. */
async function guessAll(guess: () => Promise<Page>, count: number): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (let tried = 0; tried < count; tried += 1) {
    const { status } = await guess();
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

eachStore(
  'PR-11: guesses',
  (world) => {
    it('from one address are ten in ten minutes, and the right code is none more', async () => {
      const { userCode } = await askForCodes(world());
      const browsers = Array.from({ length: 10 }, () => guesser(world()));
      let turn = 0;
      const guess = async () => (browsers[(turn += 1) % 10] ?? fail())(madeUpCode(), '192.0.2.1');
      expect(await guessAll(guess, 50)).toEqual({ 422: 10, 429: 40 });
      const type = guesser(world());
      const late = await type(userCode, '192.0.2.1');
      expect([late.status, Number(late.headers.get('retry-after')) > 0]).toEqual([429, true]);
      expect(isConfirmPage(await type(userCode, '192.0.2.2'))).toBe(true);
    });

    it('by one browser are ten, from wherever they come, and right ones don’t count', async () => {
      const type = guesser(world());
      const { userCode } = await askForCodes(world());
      let turn = 0;
      const from = () => `198.51.100.${(turn += 1)}`;
      for (let time = 0; time < 20; time += 1) expect(isConfirmPage(await type(userCode, from()))).toBe(true);
      expect(await guessAll(async () => type(madeUpCode(), from()), 30)).toEqual({ 422: 10, 429: 20 });
    });

    it('of all addresses together are three hundred', async () => {
      let turn = 0;
      const guess = async () => guesser(world())(madeUpCode(), `203.0.113.${Math.floor((turn += 1) / 5)}`);
      // Twenty of the other tests.
      expect(await guessAll(guess, 320)).toEqual({ 422: 280, 429: 40 });
    });
  },
  { config: GUESSES },
);

function fail(): never {
  throw new Error('there are ten browsers');
}

describe.each<StoreName>(['lmdb', 'redis'])('at two processes on %s', (storeName) => {
  let two: TwoProcesses;
  beforeAll(async () => {
    two = await startTwoProcesses(storeName, DEVICE_CONFIG);
  });
  afterAll(() => two.stop());

  it('PR-13: polls are counted together', async () => {
    const [first, second] = two.nodes;
    const asked = await askForCodes(first);
    expect((await poll(first, asked)).body['error']).toBe('authorization_pending');
    expect((await poll(second, asked)).body['error']).toBe('slow_down');
    expect((await poll(first, asked)).body['error']).toBe('slow_down');
  });

  it(`PR-15: one approval is one token, of twenty polls at once, in ${ROUNDS} rounds`, async () => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const [first, second] = two.nodes;
      const asked = await askForCodes(round % 2 === 0 ? first : second);
      await letIn(first, asked);
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_poll, index) => poll(index % 2 === 0 ? first : second, asked)),
      );
      const errors = answers.map(({ status, body }) => `${status} ${String(body['error'])}`);
      expect(errors.toSorted(), `round ${round}`).toEqual([
        '200 undefined',
        ...Array.from({ length: 19 }, () => '400 invalid_grant'),
      ]);
      expect((await poll(second, asked)).body['error']).toBe('invalid_grant');
      // A poll that came too late is no theft.
      const token = answers.find(({ status }) => status === 200)?.body['access_token'];
      expect((await introspect(second, String(token)))['active']).toBe(true);
    }
  });
});
