import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Client, Rate, RateLimits } from '../../../src/config/config.ts';
import { createLimits, type Limits, TooManyRequests } from '../../../src/limits/limits.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb.ts';
import { type CounterStore, type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { moveClock } from '../../world/clock.ts';

const rate = (limit: number): Rate => ({ limit, windowSeconds: 60 });
const RATES: RateLimits = {
  dryRun: false,
  token: { client: rate(3), address: rate(2), failures: rate(2) },
  introspection: { client: rate(3), failures: rate(2) },
  revocation: { client: rate(3), failures: rate(2) },
  userinfo: { address: rate(2) },
  authorization: { address: rate(2) },
  logout: { address: rate(2) },
  signIn: { accountFailures: rate(2), addressFailures: rate(4) },
};
const client = (clientId: string, own?: Rate) =>
  ({ clientId, rateLimits: own ? { token: own } : {} }) as Client;

/** The store during an outage. */
const DOWN: CounterStore = {
  increment: () => Promise.reject(new StoreUnavailable()),
  read: () => Promise.reject(new StoreUnavailable()),
  set: () => Promise.reject(new StoreUnavailable()),
  remove: () => Promise.reject(new StoreUnavailable()),
};

let folder: string;
let store: Store;
let pepper = 0;
const reported: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-limits-'));
  store = await openLmdb({ folder, now: () => Date.now() });
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  pepper += 1; // other names for the counters of each test
  reported.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

function limitsOf(change: Partial<RateLimits> = {}, counters: CounterStore = store.counters): Limits {
  return createLimits({
    counters,
    hash: createKeyedHash(Buffer.alloc(32, pepper)),
    rates: { ...RATES, ...change },
    onLimited: (limit) => reported.push(limit),
  });
}

/** How many of `count` requests pass. */
async function passing(count: number, take: () => Promise<unknown>): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: count }, take));
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(TooManyRequests);
  }
  return results.filter(({ status }) => status === 'fulfilled').length;
}

describe('a limit', () => {
  it('lets its number pass and no more, also at once, for each address', async () => {
    const limits = limitsOf();
    expect(await passing(10, () => limits.takeAddress('token', '192.0.2.1'))).toBe(2);
    expect(await passing(10, () => limits.takeAddress('token', '192.0.2.2'))).toBe(2);
    expect(await passing(10, () => limits.takeAddress('userinfo', '192.0.2.1'))).toBe(2);
    expect(new Set(reported)).toEqual(new Set(['token.address', 'userinfo.address']));
  });

  it('is shared by all that use the same store', async () => {
    const [here, there] = [limitsOf(), limitsOf()];
    expect(await passing(2, () => here.takeClient('token', client('svc')))).toBe(2);
    expect(await passing(2, () => there.takeClient('token', client('svc')))).toBe(1);
  });

  it('says how many whole seconds to wait, at least one, and then lets pass', async () => {
    const limits = limitsOf();
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

  it('of a client may be its own', async () => {
    const limits = limitsOf();
    expect(await passing(10, () => limits.takeClient('token', client('a', rate(5))))).toBe(5);
    expect(await passing(10, () => limits.takeClient('token', client('b')))).toBe(3);
  });

  it('in a dry run only reports', async () => {
    const limits = limitsOf({ dryRun: true });
    expect(await passing(5, () => limits.takeAddress('token', 'x'))).toBe(5);
    expect(reported).toEqual(['token.address', 'token.address', 'token.address']);
  });
});

describe('an attempt with a secret', () => {
  it('counts for the client and the address together, and for the address over all clients', async () => {
    const limits = limitsOf();
    const attempt = (clientId: string, address: string) => () =>
      limits.takeSecretAttempt('token', clientId, address);
    expect(await passing(5, attempt('a', '192.0.2.1'))).toBe(2);
    expect(await passing(1, attempt('a', '192.0.2.2'))).toBe(1);
    // 5 of 6 are used up by now.
    expect(await passing(1, attempt('b', '192.0.2.1'))).toBe(1);
    expect(await passing(1, attempt('c', '192.0.2.1'))).toBe(0);
  });

  it('is taken back after success', async () => {
    const limits = limitsOf();
    for (let count = 0; count < 10; count += 1) {
      const takeBack = await limits.takeSecretAttempt('token', 'a', 'x');
      takeBack();
    }
    expect(reported).toEqual([]);
    await limits.takeSecretAttempt('token', 'a', 'x');
    await limits.takeSecretAttempt('token', 'a', 'x');
    await expect(limits.takeSecretAttempt('token', 'a', 'x')).rejects.toThrow(TooManyRequests);
  });
});

describe('an attempt to sign in', () => {
  it('counts for the account from that address, and for the address', async () => {
    const limits = limitsOf();
    const attempt = (account: string, address: string) => () => limits.takeSignInAttempt(account, address);
    expect(await passing(3, attempt('alice', '192.0.2.1'))).toBe(2);
    expect(await passing(1, attempt('alice', '192.0.2.2'))).toBe(1);
    expect(await passing(3, attempt('bob', '192.0.2.1'))).toBe(1);
  });
});

describe('without the store', () => {
  it('each process counts for itself: never unlimited, and not closed', async () => {
    const limits = limitsOf({}, DOWN);
    expect(await passing(10, () => limits.takeAddress('token', 'x'))).toBe(2);
    expect(await passing(10, () => limits.takeClient('token', client('svc')))).toBe(3);
  });
});
