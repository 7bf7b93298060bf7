// Guessing passwords: how often, how fast, from where; and that it never locks the right user out.
import { describe, expect, it } from 'vitest';
import { openAccount } from '../world/account-page.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { type Browser, formOf, type Page } from '../world/browser.ts';
import { newBrowser } from '../world/person.ts';
import { NEVER } from '../world/turns.ts';
import { type OpenWorld, PASSWORDS, PEOPLE, type World } from '../world/world.ts';
import { DAY, HOUR, moveClock, standingClock } from '../world/clock.ts';
import { anyStore, eachStore, useWorld } from '../world/each-store.ts';
import { runVerb } from '../world/command-line.ts';
import { limitsOf } from '../world/stored.ts';
import { clientCredentials } from '../world/token-endpoint.ts';
import { createAccountStates } from '../../src/users/account-state.ts';

/** Only the limits of the account apply, unless a test says otherwise. */
const FAR = {
  trusted_proxies: ['127.0.0.1'],
  rate_limits: { authorization: '1000000/1m', sign_in: '100000/1m' },
};
const OPTIONS = { config: FAR, rotationTimer: NEVER };
const UNKNOWN_MAY = 80;

const from = (address: string) => ({ 'x-forwarded-for': address });
/** Counts the networks used so far: each call returns an address in a new one, as a botnet has. */
let strangers = 0;
function elsewhere(): string {
  strangers += 1;
  return `203.${Math.floor(strangers / 250) % 250}.${strangers % 250}.7`;
}

async function open(world: World, browser: Browser = newBrowser(world)) {
  const page = await browser.open(authorizationUrl(world, { prompt: 'login' }));
  expect(page.text).toContain('name="password"');
  return { browser, page };
}

type Guess = {
  readonly username?: string;
  readonly password?: string;
  readonly address?: string;
  readonly browser?: Browser;
};

async function guess(
  world: World,
  { username = 'alice', password = 'wrong', address, browser }: Guess = {},
): Promise<Page> {
  const opened = await open(world, browser);
  return opened.browser.submit(opened.page, '/login', { username, password }, from(address ?? elsewhere()));
}

const right = (world: World, more: Guess = {}) => guess(world, { password: PASSWORDS.alice, ...more });
const waitOf = ({ headers }: Page) => Number(headers.get('retry-after'));
const isIn = (page: Page) => page.status === 200 && !page.text.includes('name="password"');

/** Fails `times` times from unknown networks, an hour apart: all but the last as another process of the service counts them. */
async function failElsewhere(world: OpenWorld, times: number, username = 'alice'): Promise<void> {
  const limits = await limitsOf(world);
  const id = username in PEOPLE ? PEOPLE[username as keyof typeof PEOPLE] : undefined;
  const state = await createAccountStates(world.openedStore.documents).get(id ?? 'nobody');
  const counted = {
    account: id ?? username,
    since: `0.${state.validAfter}.${state.attemptsSince ?? 0}`,
    exists: id !== undefined,
    device: undefined,
  };
  for (let count = 1; count < times; count += 1) {
    moveClock(HOUR);
    await limits.takeSignInAttempt({ ...counted, address: elsewhere() });
  }
  moveClock(HOUR);
  expect((await guess(world, { username })).status, `failure ${times}`).toBe(401);
}

// On lmdb, waits end by the test's clock alone. On Redis they also end by its own clock, and the first wait is one second.
describe('LG-23: guessing one account from everywhere', () => {
  const world = useWorld(OPTIONS);
  standingClock();

  it('is slower and slower, and after each wait the right password works', async () => {
    const waits: number[] = [];
    for (let count = 0; count < 19; count += 1) expect((await guess(world())).status).toBe(401);
    for (let count = 20; count <= 30; count += 1) {
      expect((await guess(world())).status, `failure ${count}`).toBe(401);
      const early = await right(world());
      expect(early.status).toBe(429);
      waits.push(waitOf(early));
      moveClock(waitOf(early));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    expect(isIn(await right(world()))).toBe(true);
    const records = world().recorded.audit('account_lock');
    expect(records.map(({ times }) => times)).toEqual(waits.map((_wait, index) => index + 20));
  });
});

eachStore('LG-23, LG-24: the last guesses at an account', OPTIONS, (world) => {
  standingClock();

  it('are compared as often as is left, however many come at once; then strangers are refused until an operator acts', async () => {
    await failElsewhere(world(), UNKNOWN_MAY - 2);
    moveClock(HOUR);
    expect((await guess(world())).status).toBe(401);
    moveClock(HOUR);
    const opened = await Promise.all(Array.from({ length: 50 }, () => open(world())));
    const answers = await Promise.all(
      opened.map(({ browser, page }) =>
        browser.submit(page, '/login', { username: 'alice', password: 'wrong' }, from(elsewhere())),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(1);
    expect(statuses.filter((status) => status === 429)).toHaveLength(49);
    for (let day = 0; day < 3; day += 1) {
      moveClock(DAY);
      expect((await right(world())).status, `day ${day}`).toBe(429);
    }
    const done = await runVerb(['user', 'enable', 'alice', '--config', world().configFile]);
    expect([done.code, done.stdout, done.stderr]).toEqual([0, 'Enabled alice\n', '']);
    expect(isIn(await right(world()))).toBe(true);
  });

  it('CF-15: are in the audit trail and the metrics, one record for each failure that makes unknown places wait', async () => {
    const records = world().recorded.audit('account_lock');
    expect(records.map(({ times, reason }) => [times, reason])).toEqual([
      [UNKNOWN_MAY - 2, 'paced'],
      [UNKNOWN_MAY - 1, 'paced'],
      [UNKNOWN_MAY, 'locked'],
    ]);
    expect(new Set(records.map(({ account_id }) => account_id))).toEqual(new Set([PEOPLE.alice]));
    const metrics = await (await fetch(`${world().management}/metrics`)).text();
    expect(metrics).toContain('postern_security_events_total{event="account_lock",outcome="failure"} 3');
  });

  it('LG-18: an unknown username is paced in the same way', async () => {
    const seen: unknown[] = [];
    for (const username of ['bob', 'somebody-who-is-not']) {
      const rows: unknown[] = [];
      // The next wait is one minute, which Redis also measures by its own clock.
      await failElsewhere(world(), 25, username);
      moveClock(HOUR);
      for (let count = 0; count < 4; count += 1) {
        const answer = await guess(world(), { username });
        rows.push([answer.status, answer.headers.get('retry-after'), [...answer.headers.keys()].toSorted()]);
      }
      seen.push(rows);
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(JSON.stringify(seen[0])).toContain('429');
  });
});

describe('LG-18, LG-23: existing and made-up usernames', () => {
  const world = useWorld(OPTIONS);
  standingClock();
  const NAMES = ['bob', 'somebody-who-is-not'];
  const answersOf = async (username: string) => {
    const answers = [await guess(world(), { username }), await guess(world(), { username })];
    return answers.map((answer) => [answer.status, answer.headers.get('retry-after')]);
  };

  it('are paced until a day after the last failure, and not longer', async () => {
    for (const username of NAMES) {
      await failElsewhere(world(), 24, username);
      moveClock(DAY - 10);
      expect(await answersOf(username), username).toEqual([
        [401, null],
        [429, '32'],
      ]);
      moveClock(DAY + 1);
      expect(await answersOf(username), username).toEqual([
        [401, null],
        [401, null],
      ]);
    }
  });

  it('can be told apart by a whole row of failures and a day of waiting, and by nothing less', async () => {
    const names = ['alice', 'nobody-at-all'];
    const seen: unknown[] = [];
    for (const username of names) {
      await failElsewhere(world(), UNKNOWN_MAY - 1, username);
      moveClock(HOUR);
      const rows = await answersOf(username);
      moveClock(DAY - HOUR);
      seen.push([...rows, ...(await answersOf(username))]);
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[0]).toEqual([
      [401, null],
      [429, String(DAY)],
      [429, String(HOUR)],
      [429, String(HOUR)],
    ]);
    moveClock(HOUR + 1);
    expect((await guess(world(), { username: 'nobody-at-all' })).status).toBe(401);
    const locked = await right(world());
    expect([locked.status, waitOf(locked)]).toEqual([429, DAY]);
  });
});

describe('F1-18: eighty failures', () => {
  const world = useWorld({ ...OPTIONS, config: { ...OPTIONS.config, account: true } });
  standingClock();

  it('are counted for longer than a day however the id was typed as a name, and the user is told', async () => {
    const laptop = newBrowser(world());
    expect(isIn(await right(world(), { browser: laptop, address: '198.51.100.1' }))).toBe(true);
    const wide = PEOPLE.alice.replaceAll(/./g, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0));
    for (const username of [PEOPLE.alice, PEOPLE.alice.toUpperCase(), ` ${PEOPLE.alice}`, wide])
      expect((await guess(world(), { username })).status).toBe(401);
    await failElsewhere(world(), UNKNOWN_MAY);
    for (const username of [PEOPLE.alice, wide]) await guess(world(), { username });
    moveClock(2 * DAY);
    expect((await right(world())).status).toBe(429);
    for (let count = 0; count < 9; count += 1)
      expect((await guess(world(), { browser: laptop })).status).toBe(401);
    expect(isIn(await right(world(), { browser: laptop }))).toBe(true);
    const page = await openAccount(world(), laptop, { username: 'alice' });
    expect(page.text).toContain('Too many incorrect passwords were entered.');
    expect(isIn(await right(world()))).toBe(true);
  });
});

describe("LG-25: a stranger can't lock a user out", () => {
  const world = useWorld(OPTIONS);
  standingClock();

  it('who signed in before from the browser, wherever it is now', async () => {
    const laptop = newBrowser(world());
    expect(isIn(await right(world(), { browser: laptop, address: '198.51.100.1' }))).toBe(true);
    await failElsewhere(world(), UNKNOWN_MAY);
    expect((await guess(world())).status).toBe(429);
    // A device cookie of another user, an altered one and made-up ones have no effect.
    const cookie = laptop.cookies.find(({ name }) => name === 'postern_device');
    expect(cookie?.value).toMatch(/^[\w-]{22}\.\d+\.[\w-]{43}$/);
    const bobs = newBrowser(world());
    await guess(world(), { username: 'bob', password: PASSWORDS.bob, browser: bobs });
    const planted = [
      bobs.cookies.find(({ name }) => name === 'postern_device')?.value ?? '',
      `${cookie?.value.slice(0, -1)}${cookie?.value.endsWith('A') ? 'B' : 'A'}`.replace(/^./, 'x'),
      `${'A'.repeat(22)}.9999999999.${'A'.repeat(43)}`,
      'x'.repeat(3000),
    ];
    for (const value of planted) {
      const thief = newBrowser(world());
      thief.setCookie({ name: 'postern_device', value, path: '/' });
      expect((await right(world(), { browser: thief })).status, value.slice(0, 20)).toBe(429);
    }
    expect(isIn(await right(world(), { browser: laptop, address: elsewhere() }))).toBe(true);
    // This sign-in also clears the failures from elsewhere.
    expect((await guess(world())).status).toBe(401);
  });

  it('not even from the same address, beyond what it may fail with', async () => {
    const laptop = newBrowser(world());
    const address = '198.51.100.3';
    expect(isIn(await right(world(), { browser: laptop, address }))).toBe(true);
    for (let count = 0; count < 40; count += 1) await guess(world(), { address });
    expect((await right(world(), { address })).status).toBe(429);
    expect(isIn(await right(world(), { browser: laptop, address }))).toBe(true);
  });

  it('and a known browser is no place to guess from: ten failures, and it is a stranger’s; from a known address a new one is in', async () => {
    const laptop = newBrowser(world());
    const address = '198.51.100.2';
    expect(isIn(await right(world(), { browser: laptop }))).toBe(true);
    expect(isIn(await right(world(), { address }))).toBe(true);
    await failElsewhere(world(), UNKNOWN_MAY);
    expect((await right(world())).status).toBe(429);
    for (let count = 0; count < 10; count += 1) {
      expect((await guess(world(), { browser: laptop })).status, `guess ${count + 1}`).toBe(401);
    }
    expect((await right(world(), { browser: laptop })).status).toBe(429);
    expect(isIn(await right(world(), { address }))).toBe(true);
    await createAccountStates(world().openedStore.documents).update(PEOPLE.alice, {
      attemptsSince: Date.now(),
    });
    expect(isIn(await right(world(), { browser: laptop }))).toBe(true);
  });
});

const ONCE_AN_HOUR = { config: { ...FAR, rate_limits: { ...FAR.rate_limits, sign_in: '1/1h' } } };

anyStore('one password on many accounts', ONCE_AN_HOUR, (world) => {
  it('is limited by address and by network, also for unknown usernames', async () => {
    const statusOf = async (address: string, index: number) =>
      (await guess(world(), { username: `person ${index}`, address })).status;
    const first: number[] = [];
    for (let index = 0; index < 7; index += 1) first.push(await statusOf('192.0.2.1', index));
    expect(first).toEqual([...Array<number>(6).fill(401), 429]);
    const network: number[] = [];
    for (let host = 2; host <= 12; host += 1) {
      for (let index = 0; index < 6; index += 1)
        network.push(await statusOf(`192.0.2.${host}`, host * 10 + index));
    }
    // The limits are 6 for each address and 60 for the /24, of which the first address used 6.
    expect(network.filter((status) => status === 401)).toHaveLength(54);
    expect(network.slice(54).every((status) => status === 429)).toBe(true);
    expect(await statusOf('192.0.3.1', 900)).toBe(401);
  });

  it('LG-27: signing in to one’s own account between guesses gives no further ones', async () => {
    const address = '192.0.5.1';
    const browser = newBrowser(world());
    const statuses: number[] = [];
    for (let index = 0; index < 9; index += 1) {
      statuses.push((await guess(world(), { username: `victim ${index}`, address, browser })).status);
      await guess(world(), { username: 'bob', password: PASSWORDS.bob, address, browser });
    }
    expect(statuses).toEqual([...Array<number>(6).fill(401), 429, 429, 429]);
  });
});

describe('LG-31: a crowd of unknown browsers', () => {
  const world = useWorld(OPTIONS);
  it('learns that the service is busy; trusted browsers sign in and services get their tokens meanwhile', async () => {
    const trusted = Array.from({ length: 10 }, () => newBrowser(world()));
    for (const browser of trusted) expect(isIn(await right(world(), { browser }))).toBe(true);
    const crowd: Awaited<ReturnType<typeof open>>[] = [];
    while (crowd.length < 260) {
      crowd.push(...(await Promise.all(Array.from({ length: 20 }, () => open(world())))));
    }
    const laptops = await Promise.all(trusted.map((browser) => open(world(), browser)));
    const refused = crowd.map(async ({ browser, page }, index) =>
      browser.submit(page, '/login', { username: `name ${index}`, password: 'wrong' }, from(elsewhere())),
    );
    const own = laptops.map(({ browser, page }) =>
      browser.submit(page, '/login', { username: 'alice', password: PASSWORDS.alice }, from(elsewhere())),
    );
    expect((await clientCredentials(world())).status).toBe(200);
    const [answers, others] = await Promise.all([Promise.all(own), Promise.all(refused)]);
    expect(answers.map(isIn)).toEqual(own.map(() => true));
    const busy = others.filter(({ status }) => status === 503);
    expect(busy.length).toBeGreaterThan(0);
    for (const { status } of others) expect([401, 503]).toContain(status);
    for (const { headers, text } of busy) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(text).toContain('Sign-in is busy right now.');
    }
  });
});

describe('LG-06: what was planted in a browser before a sign-in', () => {
  const world = useWorld(OPTIONS);
  it('is worth nothing after it: the device is named anew, and the token of the form is for one step of one sign-in', async () => {
    const attacker = newBrowser(world());
    expect(isIn(await guess(world(), { username: 'bob', password: PASSWORDS.bob, browser: attacker }))).toBe(
      true,
    );
    const planted = attacker.cookies.find(({ name }) => name === 'postern_device');
    if (planted === undefined) throw new Error('no device cookie');
    const before = newBrowser(world());
    await right(world(), { browser: before });
    const own = before.cookies.find(({ name }) => name === 'postern_device')?.value ?? '';

    const victim = newBrowser(world());
    victim.setCookie({ ...planted, value: `${own}~${planted.value}` });
    const { page } = await open(world(), victim);
    const loginToken = formOf(page, '/login').fields['csrf'] ?? '';
    const consent = await victim.submit(
      page,
      '/login',
      { username: 'alice', password: PASSWORDS.alice },
      from(elsewhere()),
    );
    expect(isIn(consent)).toBe(true);
    const entries = (victim.cookies.find(({ name }) => name === 'postern_device')?.value ?? '').split('~');
    // A new entry for alice, and the entry that the browser had for bob.
    expect(entries).toHaveLength(2);
    expect(entries[0]).not.toBe(own);
    expect(entries).not.toContain(own);
    expect(entries[1]).toBe(planted.value);
    const forged = await victim.submit(consent, '/consent', { csrf: loginToken });
    expect(forged.status).toBe(403);
    expect((await victim.submit(consent, '/consent')).url).toContain('code=');
  });
});

it('LG-23: the numbers keep an account below a hundred failures in a row with one browser and one address known', async () => {
  const { CAP, KNOWN, waitAfter } = await import('../../src/limits/sign-in-attempts.ts');
  expect(CAP + 2 * KNOWN.limit).toBeLessThanOrEqual(100);
  const waits = Array.from({ length: CAP }, (_none, index) => waitAfter(index + 1));
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  expect([1, 19, 20, 28, 29, 59, 60, 61, 63, 64, 80].map((failures) => waits[failures - 1])).toEqual([
    0, 0, 1, 256, 300, 300, 600, 1200, 3600, 3600, 3600,
  ]);
});
