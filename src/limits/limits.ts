// Every limit of the service by name: what is counted, for whom, and what happens without a store. Owns no HTTP; the
// one who asks turns a refusal into 429.
import { RateLimiterMemory, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Client, Rate, RateLimits } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { CounterStore } from '../store/store.ts';
import { CounterLimiter } from './counter-limiter.ts';

/** RFC 6585 §4: the caller waits `retryAfterSeconds` (at least 1) and may then try again. */
export class TooManyRequests extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many requests');
    this.name = 'TooManyRequests';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Endpoints where a client shows its secret. */
export type ClientEndpoint = 'token' | 'introspection' | 'revocation';
/** Endpoints that count by address. */
export type AddressEndpoint = ClientEndpoint | 'userinfo' | 'authorization' | 'logout';

export interface Limits {
  /** Counts one request of this address; throws TooManyRequests. */
  takeAddress(endpoint: AddressEndpoint, address: string): Promise<void>;
  /** Counts one request of an authenticated client; throws TooManyRequests. */
  takeClient(endpoint: ClientEndpoint, client: Client): Promise<void>;
  /** Counts an attempt before the secret is looked at; throws TooManyRequests. The result takes it back after success. */
  takeSecretAttempt(endpoint: ClientEndpoint, clientId: string, address: string): Promise<() => void>;
  /** The same for a password. `account` is the canonical username. */
  takeSignInAttempt(account: string, address: string): Promise<() => void>;
}

export type LimitsParts = {
  readonly counters: CounterStore;
  readonly hash: KeyedHash;
  readonly rates: RateLimits;
  /** A limit was hit: its name, for logs and metrics. */
  readonly onLimited: (limit: string) => void;
};

/** Failed secrets of one address over all clients: three times what one client may fail with. */
const ADDRESS_FAILURES_FACTOR = 3;

export function createLimits({ counters, hash, rates, onLimited }: LimitsParts): Limits {
  const limiters = new Map<string, RateLimiterAbstract>();

  function limiter(name: string, { limit, windowSeconds }: Rate): RateLimiterAbstract {
    const id = `${name}:${limit}/${windowSeconds}`;
    let found = limiters.get(id);
    if (found === undefined) {
      const options = { points: limit, duration: windowSeconds, keyPrefix: '' };
      // Without the store each process counts for itself: never unlimited, never closed by the outage alone.
      const insuranceLimiter = new RateLimiterMemory(options);
      found = new CounterLimiter(counters, {
        ...options,
        insuranceLimiter,
        inMemoryBlockOnConsumed: limit + 1,
      });
      limiters.set(id, found);
    }
    return found;
  }

  async function take(name: string, rate: Rate, subject: string): Promise<() => void> {
    const counter = limiter(name, rate);
    const key = hash(`limit:${name}:${subject}`);
    try {
      await counter.consume(key);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      onLimited(name);
      if (!rates.dryRun) throw new TooManyRequests(Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)));
    }
    return () => {
      // In the background: a success isn't made to wait for its own bookkeeping, and a lost one only counts once too often.
      counter.reward(key).catch(() => undefined);
    };
  }

  return {
    async takeAddress(endpoint, address) {
      // Introspection and revocation are called by few, trusted hosts: one address may do what one client may.
      const rate = rates[endpoint];
      await take(`${endpoint}.address`, 'address' in rate ? rate.address : rate.client, address);
    },
    async takeClient(endpoint, { clientId, rateLimits }) {
      await take(`${endpoint}.client`, rateLimits[endpoint] ?? rates[endpoint].client, clientId);
    },
    async takeSecretAttempt(endpoint, clientId, address) {
      const rate = rates[endpoint].failures;
      const perAddress = { ...rate, limit: rate.limit * ADDRESS_FAILURES_FACTOR };
      // Per client *and* address: nobody can lock a client out from somewhere else.
      const takeBacks = await Promise.all([
        take(`${endpoint}.failures`, rate, `${clientId}\n${address}`),
        take(`${endpoint}.address_failures`, perAddress, address),
      ]);
      return () => takeBacks.forEach((takeBack) => takeBack());
    },
    async takeSignInAttempt(account, address) {
      const takeBacks = await Promise.all([
        take('sign_in.account_failures', rates.signIn.accountFailures, `${account}\n${address}`),
        take('sign_in.address_failures', rates.signIn.addressFailures, address),
      ]);
      return () => takeBacks.forEach((takeBack) => takeBack());
    },
  };
}
