// Codes of devices that are guessed, and devices that ask at several processes at once (RFC 8628 §5.1, §3.5).
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createAccountStates } from '../../src/users/account-state.ts';
import { formOf, type Page } from '../world/browser.ts';
import {
  askForCodes,
  DEVICE_CONFIG,
  isConfirmPage,
  isDonePage,
  letIn,
  poll,
  postToDevice,
  typeCode,
} from '../world/device.ts';
import { MINUTE, moveClock } from '../world/clock.ts';
import { eachStore } from '../world/each-store.ts';
import { newBrowser, signInAs } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { rounds } from '../world/rounds.ts';
import { giveOneTimeCodes, isSecondStep, setFactors } from '../world/second-factors.ts';
import { limitsOf } from '../world/stored.ts';
import { startTwoProcesses, type TwoProcesses } from '../world/two-processes.ts';
import { API, CALLBACK, type OpenWorld, PEOPLE, type StoreName } from '../world/world.ts';

const GUESSES = { trusted_proxies: ['127.0.0.1'], ...DEVICE_CONFIG };
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CONFIG = { ...DEVICE_CONFIG, account: true, sign_in: { one_time_codes: true } };
const ROUNDS = rounds(50, 3);

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
    afterAll(() => vi.useRealTimers());
    it('from one address are ten in ten minutes, and the right code is none more', async () => {
      const { userCode } = await askForCodes(world());
      const browsers = Array.from({ length: 10 }, () => guesser(world()));
      let turn = 0;
      const guess = async () => (browsers[(turn += 1) % 10] ?? fail())(madeUpCode(), '192.0.2.1');
      expect(await guessAll(guess, 50)).toEqual({ 422: 10, 429: 40 });
      const type = guesser(world());
      const late = await type(userCode, '192.0.2.1');
      expect([late.status, Number(late.headers.get('retry-after')) > 0]).toEqual([429, true]);
      // Right ones don't count.
      for (let time = 0; time < 12; time += 1)
        expect(isConfirmPage(await type(userCode, '192.0.2.2'))).toBe(true);
    });

    it('of all addresses together are three hundred', async () => {
      let turn = 0;
      const guess = async () => guesser(world())(madeUpCode(), `203.0.113.${Math.floor((turn += 1) / 5)}`);
      // Ten of the other test, and 270 that another process of the service counts.
      const limits = await limitsOf(world());
      for (let count = 0; count < 270; count += 1) await limits.takeUserCode(`198.18.${count % 250}.1`);
      expect(await guessAll(guess, 40)).toEqual({ 422: 20, 429: 20 });
    });

    it('F1-22: from one network are a hundred, so that it doesn’t use up what all have', async () => {
      moveClock(11 * MINUTE);
      const limits = await limitsOf(world());
      for (let count = 0; count < 100; count += 1) await limits.takeUserCode(`100.64.7.${count % 50}`);
      expect((await guesser(world())(madeUpCode(), '100.64.7.77')).status).toBe(429);
      expect((await guesser(world())(madeUpCode(), '100.64.8.77')).status).toBe(422);
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
    two = await startTwoProcesses(storeName, DEVICE_CONFIG, {}, { slowMs: 3 });
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

eachStore(
  'who lets a device in',
  (world) => {
    it('has to prove what the app asks for, like everybody who signs in', async () => {
      const app = await giveOneTimeCodes(world());
      const asked = await askForCodes(world());
      const browser = newBrowser(world());
      const confirm = await typeCode(browser, world(), asked.userCode);
      const login = await browser.submit(confirm, '/device', { confirm: 'yes' });
      const step = await signInAs(browser, login, 'alice');
      expect(isSecondStep(step)).toBe(true);
      expect((await poll(world(), asked)).body['error']).toBe('authorization_pending');
      const consent = await browser.submit(step, '/code', { code: app.code() });
      expect(isDonePage(await browser.submit(consent, '/consent'))).toBe(true);
      const { body } = await poll(world(), asked);
      expect(decodeJwt(String(body['id_token']))['amr']).toEqual(['pwd', 'otp', 'mfa']);
      await setFactors(world(), 'alice', {});
    });

    it('lets nothing in once they are disabled, and takes back what they let in', async () => {
      const states = createAccountStates(world().openedStore.documents);
      const [before, after] = [await askForCodes(world()), await askForCodes(world())];
      for (const asked of [before, after]) {
        expect(isDonePage(await letIn(world(), asked, { person: 'bob' }))).toBe(true);
      }
      const { body } = await poll(world(), before);
      await states.update(PEOPLE.bob, { disabled: true });
      expect((await poll(world(), after)).body['error']).toBe('invalid_grant');
      expect((await introspect(world(), String(body['access_token'])))['active']).toBe(false);
      const form = {
        grant_type: 'refresh_token',
        refresh_token: String(body['refresh_token']),
        client_id: 'tv',
      };
      expect((await post(world(), '/oauth/token', form)).body['error']).toBe('invalid_grant');
      await states.update(PEOPLE.bob, { disabled: false });
    });

    it('CF-05: gives a device only what its client and its person may still have at the poll', async () => {
      const [narrowed, ofApi, denied, gone] = await Promise.all([
        askForCodes(world(), { scope: 'openid profile offline_access reports.read' }),
        askForCodes(world(), { scope: 'openid reports.read', resource: API }),
        askForCodes(world()),
        askForCodes(world()),
      ]);
      const pending = await askForCodes(world());
      for (const asked of [narrowed, ofApi, denied, gone]) {
        expect(isDonePage(await letIn(world(), asked))).toBe(true);
      }
      const withTv = (changes: object) => ({
        ...CONFIG,
        groups: { staff: 'Staff' },
        clients: CONFIG.clients.map((one) => (one.client_id === 'tv' ? { ...one, ...changes } : one)),
      });
      const scope = 'openid offline_access';

      const foreign = await poll(world(), narrowed, 'tv', { resource: API });
      expect(foreign.body['error']).toBe('invalid_target');
      await world().reload(withTv({ scope }));
      const { body } = await poll(world(), narrowed);
      expect(body['scope']).toBe(scope);
      expect(decodeJwt(String(body['access_token']))).toMatchObject({ aud: world().issuer, scope });
      const form = {
        grant_type: 'refresh_token',
        refresh_token: String(body['refresh_token']),
        client_id: 'tv',
      };
      expect((await post(world(), '/oauth/token', form)).body['scope']).toBe(scope);
      expect((await poll(world(), ofApi)).body['error']).toBe('invalid_target');
      expect(isDonePage(await letIn(world(), pending))).toBe(false);
      expect((await poll(world(), pending)).body['error']).toBe('invalid_scope');

      await world().reload(withTv({ access: { groups: ['staff'] } }));
      expect((await poll(world(), denied)).body['error']).toBe('invalid_grant');
      const grants = { grant_types: ['authorization_code'], redirect_uris: [CALLBACK], scope: 'openid' };
      await world().reload(withTv(grants));
      expect((await poll(world(), gone)).body['error']).toBe('unauthorized_client');
      const begun = await post(world(), '/oauth/device_authorization', { client_id: 'tv', scope: 'openid' });
      expect([begun.status, begun.body['error']]).toEqual([400, 'unauthorized_client']);
      await world().reload(CONFIG);
    });
  },
  { config: CONFIG },
);
