import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MACHINE_MS } from '../../world/clock.ts';
import type { Client, RateLimits } from '../../../src/config/config.ts';
import type { Rate } from '../../../src/config/notation.ts';
import { silentTelemetry } from '../../../src/observability/telemetry.ts';
import { createLimits, LIMIT_NAMES, type Limits, TooManyRequests } from '../../../src/limits/limits.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import { type CounterStore, type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { moveClock } from '../../world/clock.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const rate = (limit: number): Rate => ({ limit, windowSeconds: 60 });
const RATES: RateLimits = {
  token: rate(4),
  introspection: rate(3),
  revocation: rate(3),
  userinfo: rate(2),
  authorization: rate(2),
  logout: rate(2),
  signIn: rate(2),
};
/** The shipped limits: ordinary callers stay far below. */
const SHIPPED: Partial<RateLimits> = { token: rate(6000) };
const HERE = '192.0.2.1';
const THERE = '198.51.100.1';
const client = (clientId: string, own?: Rate) =>
  ({
    clientId,
    tokenEndpointAuthMethod: 'client_secret_basic',
    rateLimits: own ? { token: own } : {},
  }) as Client;

/** The store during an outage. */
const DOWN: CounterStore = {
  increment: () => Promise.reject(new StoreUnavailable()),
  read: () => Promise.reject(new StoreUnavailable()),
  remove: () => Promise.reject(new StoreUnavailable()),
};

const folder = tempFolder();
let store: Store;
let pepper = 0;
const reported: string[] = [];
const named = new Set<string>();

beforeAll(async () => {
  store = await openLmdb({ folder, now: () => Date.now() });
});
afterAll(async () => {
  // A limit that isn't in the list has no series before it is first exceeded.
  expect([...named].filter((limit) => !LIMIT_NAMES.includes(limit))).toEqual([]);
  await store.close();
});
beforeEach(() => {
  pepper += 1; // other names for the counters of each test
  reported.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

function newLimits(change: Partial<RateLimits> = {}, counters: CounterStore = store.counters): Limits {
  const telemetry = silentTelemetry();
  const count: typeof telemetry.metrics.count = (_, labels) => {
    reported.push(String(labels?.['limit']));
    named.add(String(labels?.['limit']));
  };
  return createLimits({
    ...telemetry,
    metrics: { ...telemetry.metrics, count },
    counters,
    hash: createKeyedHash(Buffer.alloc(32, pepper)),
    now: () => Date.now(),
  })({ ...RATES, ...change });
}

/** The number of requests, out of `count`, that pass. */
async function passing(count: number, take: () => Promise<unknown>): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: count }, take));
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(TooManyRequests);
  }
  return results.filter(({ status }) => status === 'fulfilled').length;
}

/** A comparison that succeeds or fails after a moment, and counts its runs. */
function secretThatIs(isRight: boolean) {
  const compare = vi.fn(() => isRight);
  return compare;
}

/** The counters with the number of calls; `awaited` counts only calls that a caller waited for. */
function counted(counters: CounterStore = store.counters) {
  const asked: number[] = [];
  const increment: CounterStore['increment'] = async (key, by, windowMs) => {
    asked.push(by);
    return counters.increment(key, by, windowMs);
  };
  return { asked, counters: { ...counters, increment } };
}

it('a limit says how many whole seconds to wait, at least one, and then lets pass', async () => {
  const limits = newLimits();
  moveClock(0);
  await passing(2, () => limits.takeAddress('logout', 'x'));
  moveClock(45.5);
  const refusal = await limits.takeAddress('logout', 'x').catch((error: unknown) => error);
  expect((refusal as TooManyRequests).retryAfterSeconds).toBe(15);
  moveClock(14.4);
  const last = await limits.takeAddress('logout', 'x').catch((error: unknown) => error);
  expect((last as TooManyRequests).retryAfterSeconds).toBe(1);
  moveClock(1);
  await expect(limits.takeAddress('logout', 'x')).resolves.toBeUndefined();
});

const place = { endpoint: 'token', address: HERE } as const;

it('shares of a limit are requested rarely, and no request waits for them', async () => {
  const { asked, counters } = counted();
  const limits = newLimits(SHIPPED, counters);
  for (let count = 0; count < 600; count += 1) {
    await limits.takeClient(place, client('svc'));
    if (count === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // 6000 a minute: each share is a hundredth of the rest.
  expect(asked.length).toBeLessThanOrEqual(12);
  expect(Math.max(...asked)).toBe(60);
});

const attempt =
  (limits: Limits, clientId: string, address: string, isRight = false) =>
  async () => {
    const compare = secretThatIs(isRight);
    await limits.attemptSecret({ endpoint: 'token', address }, clientId, compare);
    return compare;
  };

describe('an attempt with a secret', () => {
  it('of many new clients of one address at once is no guessing either', async () => {
    const limits = newLimits(SHIPPED);
    const names = Array.from({ length: 200 }, (_none, index) => `client-${index}`);
    const results = await Promise.all(names.map((name) => passing(2, attempt(limits, name, HERE, true))));
    expect(results.every((passed) => passed === 2)).toBe(true);
  });

  it('by a client that was right from there asks the store nothing', async () => {
    const { asked, counters } = counted();
    const limits = newLimits({}, counters);
    await attempt(limits, 'a', HERE, true)();
    await vi.waitFor(() => expect(asked).toEqual([1, -1]), MACHINE_MS);
    expect(await passing(500, attempt(limits, 'a', HERE, true))).toBe(500);
    expect(asked).toHaveLength(2);
  });

  it('that is wrong ends that, and from then on each is counted first, right ones too', async () => {
    const limits = newLimits();
    await attempt(limits, 'a', HERE, true)();
    for (let count = 0; count < 20; count += 1) await attempt(limits, 'a', HERE, count === 5)();
    await attempt(limits, 'a', HERE)();
    await vi.waitFor(async () => {
      const compare = secretThatIs(true);
      await expect(limits.attemptSecret(place, 'a', compare)).rejects.toThrow(TooManyRequests);
      expect(compare).not.toHaveBeenCalled();
    }, MACHINE_MS);
  });

  it('at the address of a known client: a burst of guesses is compared no more often than the limit says', async () => {
    const limits = newLimits();
    await attempt(limits, 'a', HERE, true)();
    const compare = secretThatIs(false);
    await passing(100, () => limits.attemptSecret(place, 'a', compare));
    expect(compare.mock.calls.length).toBeLessThanOrEqual(20);
  });
});

const of = (account: string, address: string, device?: string) => ({
  account,
  since: '0',
  exists: true,
  address,
  device,
});
const signIn = (limits: Limits, account: string, address: string) => () =>
  limits.takeSignInAttempt(of(account, address));

it('an attempt to sign in is taken back after success, and a refusal is none', async () => {
  const limits = newLimits();
  for (let count = 0; count < 10; count += 1) (await limits.takeSignInAttempt(of('alice', HERE))).takeBack();
  expect(await passing(20, signIn(limits, 'alice', HERE))).toBe(2);
  expect(await passing(2, signIn(limits, 'bob', HERE))).toBe(2);
});

describe('a second factor', () => {
  const code = (interaction: string, changes = {}) => ({
    accountId: 'usr_alice',
    address: HERE,
    device: undefined,
    interaction,
    ...changes,
  });

  it('LG-42: ends the sign-in after five, and a right one takes back its own count alone', async () => {
    const limits = newLimits();
    const taken = [];
    for (let count = 0; count < 5; count += 1) taken.push(await limits.takeCode(code('one')));
    expect(await limits.takeCode(code('one'))).toBeUndefined();
    taken[0]?.();
    await expect.poll(async () => limits.takeCode(code('one'))).toBeDefined();
    expect(await limits.takeCode(code('one'))).toBeUndefined();
  });

  it('that is pending keeps the failures of the user, and not those of the address', async () => {
    const limits = newLimits();
    const fromLaptop = of('alice', HERE, 'laptop');
    for (let count = 0; count < 10; count += 1) (await limits.takeSignInAttempt(fromLaptop)).keepPending();
    // The ten attempts of this browser are used up: the eleventh counts like one of an unknown browser.
    expect((await limits.takeSignInAttempt(fromLaptop)).failures).toBeGreaterThan(0);
    await limits.finishSignIn(fromLaptop);
    expect((await limits.takeSignInAttempt(fromLaptop)).failures).toBe(0);
    for (let count = 0; count < 14; count += 1) {
      (await limits.takeSignInAttempt(of(`person ${count}`, THERE))).keepPending();
    }
    await expect.poll(async () => passing(1, signIn(limits, 'carol', THERE))).toBe(1);
  });

  it('is neither right nor wrong while it can’t be counted', async () => {
    const limits = newLimits({}, DOWN);
    await expect(limits.takeCode(code('one'))).rejects.toThrow(StoreUnavailable);
    await expect(limits.takePasskey(HERE)).rejects.toThrow(StoreUnavailable);
  });
});

describe('HT-16 without the store', () => {
  it.each([1, 2, 3, 4, 5])('HT-16: if counter %i fails, the attempt counts in no other', async (broken) => {
    let asked = 0;
    let isBroken = true;
    const increment: CounterStore['increment'] = (key, by, windowMs) => {
      if (isBroken && by > 0 && (asked += 1) === broken) return Promise.reject(new StoreUnavailable());
      return store.counters.increment(key, by, windowMs);
    };
    const limits = newLimits({}, { ...store.counters, increment });
    for (let count = 0; count < 8; count += 1) {
      asked = 0;
      await expect(limits.takeSignInAttempt(of('alice', HERE))).rejects.toThrow(StoreUnavailable);
    }
    isBroken = false;
    expect(await passing(3, signIn(limits, 'alice', HERE))).toBe(2);
  });

  it('the outage is met once a second, not by every request', async () => {
    const increment = vi.fn(async () => Promise.reject(new StoreUnavailable()));
    const limits = newLimits({}, { ...DOWN, increment });
    for (let host = 0; host < 50; host += 1) await limits.takeAddress('token', `10.0.0.${host}`);
    expect(increment).toHaveBeenCalledTimes(1);
  });

  it('a process counts alone in an outage, and for no bug', async () => {
    const increment = () => Promise.reject(new TypeError('a bug'));
    await expect(newLimits({}, { ...DOWN, increment }).takeAddress('token', HERE)).rejects.toThrow('a bug');
  });
});
