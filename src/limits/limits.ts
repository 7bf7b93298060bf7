// Every limit of the service by name: what is counted, for whom, and what happens without a store.
//
// Requests must be cheap to count, so they pass from leases (leases.ts). Guesses must be counted exactly: in the shared counter,
// before anything is compared (attempts.ts).
//
// Nothing that somebody can say without proving it counts against anybody else: not the name of a client (secrets count
// for client *and* address, requests after authentication), nor of an account (see sign-in-attempts.ts).
import type { Client, Rate, RateLimits } from '../config/config.ts';
import { HOUR, MINUTE } from '../config/notation.ts';
import type { LimitRow } from '../config/schema-limits.ts';
import { fold } from '../features/index.ts';
import { createSparse } from '../observability/audit.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, CounterStore } from '../store/store.ts';
import { type BeginAttempt, createAttempts, type LimitRefusal } from './attempts.ts';
import { createCounters, orAlone, type Quota } from './counters.ts';
import { createLeases } from './leases.ts';
import { networkOf } from './network.ts';
import { createSecretAttempts } from './secret-attempts.ts';
import { createSignInAttempts, placesOf, SIGN_IN_LIMITS } from './sign-in-attempts.ts';

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

const per = (limit: number, windowSeconds: number): Rate => ({ limit, windowSeconds });

/**
 * Every limit that has a rate by its name in logs, metrics and docs/hardening.md: fixed, or a rate of the file and what
 * it is multiplied by; a client's own rate takes the place of that rate itself.
 */
export const LIMITS = {
  // Requests of one client that has authenticated; those of it that came to nothing; wrong credentials for it from one address: a wrong
  // deployment is noticed, guessing 128 bits isn't helped; and all without valid credentials of one address. Introspection and
  // revocation are called by few, trusted hosts: one address may do what one client may.
  'token.client': ['token', 1],
  'token.unknown': ['token', 1],
  'token.failures': per(20, MINUTE),
  'token.address': ['token', 1 / 2],
  'introspection.client': ['introspection', 1],
  'introspection.unknown': ['introspection', 1 / 20],
  'introspection.failures': per(20, MINUTE),
  'introspection.address': ['introspection', 1],
  'revocation.client': ['revocation', 1],
  'revocation.unknown': ['revocation', 1],
  'revocation.failures': per(20, MINUTE),
  'revocation.address': ['revocation', 1],
  'userinfo.address': ['userinfo', 1],
  'userinfo.unknown': ['userinfo', 1],
  // For what a browser opens without credentials, networks count, too: a /24 or a /48 is cheap to rent.
  'authorization.address': ['authorization', 1],
  'authorization.network': ['authorization', 10],
  'logout.address': ['logout', 1],
  'logout.network': ['logout', 10],
  // A sign-in is one authorization request and, with a mistyped password, up to ten others.
  'pages.address': ['authorization', 10],
  'pages.network': ['authorization', 100],
  // Wrong passwords: of one account and address, and of an address and a network over all accounts.
  'sign_in.account_failures': ['signIn', 1],
  'sign_in.address_failures': ['signIn', 6],
  'sign_in.network_failures': ['signIn', 60],
  // Codes of a second factor. A million of them are few, and who guesses has the password already. `account` counts browsers where the
  // user has not signed in before together, and each of the others by itself; a sign-in that used up `interaction` is over.
  'second_factor.account': per(20, HOUR),
  'second_factor.interaction': per(5, HOUR),
  // One-time links that don't work can't be guessed. Each is looked up, and recorded in the audit trail.
  'links.address': per(60, 10 * MINUTE),
  'links.network': per(600, 10 * MINUTE),
  // Hashing one is slow, and is done one at a time.
  new_passwords: per(10, HOUR),
  ...fold('limits'),
} satisfies Record<string, LimitRow>;

type LimitName = keyof typeof LIMITS;
const isLimit = (name: string): name is LimitName => name in LIMITS;

/** Every name that is reported. */
export const LIMIT_NAMES: readonly string[] = [...Object.keys(LIMITS), ...SIGN_IN_LIMITS];

/** Whose request met a limit. The client is one of the configuration. */
type LimitedRequest = { readonly address?: string | undefined; readonly client_id?: string };

export type Limits = ReturnType<typeof limitsOf>;

type LimitsParts = Telemetry & Readonly<{ counters: CounterStore; hash: KeyedHash; now: Clock }>;

/**
 * Once for each process. The result makes the limits of one configuration; leases, known clients and what is counted during
 * an outage are common to all of them, so that a reload neither renews nor takes away what a caller has left.
 */
export function createLimits(parts: LimitsParts): (rates: RateLimits) => Limits {
  const shared = sharedOf(parts);
  return (rates) => limitsOf(rates, shared);
}

/**
 * Each hit of a limit is counted in the metrics. The log and the audit trail have a limit once and then at most every ten seconds, so that
 * a flood of requests doesn't flood them; they name the request that met it last.
 */
function createReport({ log, audit, metrics, now }: LimitsParts) {
  const timesToSay = createSparse(now);
  return function report(limit: string, request: LimitedRequest): void {
    metrics.count('limit_hits', { limit });
    const times = timesToSay(limit);
    if (times === undefined) return;
    const { address, client_id: clientId } = request;
    log.warn({ limit, times, clientId, address }, 'limit reached');
    audit.record('limit_reached', 'failure', { limit, times, ...request });
  };
}

function sharedOf(parts: LimitsParts) {
  const { counters: store, hash, now } = parts;
  const counters = createCounters(store, hash);
  const add = orAlone(counters.add, now);
  const exact = createAttempts(add);
  return {
    takeFromLease: createLeases(add, now),
    secrets: createSecretAttempts(exact, add, now),
    exact,
    // A user's password is worth guessing: where attempts can't be counted, nobody signs in.
    signIn: { counters, beginAttempt: createAttempts(counters.add) },
    report: createReport(parts),
  };
}

function createQuotaOf(rates: RateLimits) {
  return function quotaOf(
    name: LimitName,
    subject: string,
    own: Partial<Record<string, Rate | undefined>> = {},
  ): Quota {
    const row: LimitRow = LIMITS[name];
    if ('limit' in row) return { name, rate: row, subject };
    const [key, factor] = row;
    const { limit, windowSeconds } = (factor === 1 ? own[key] : undefined) ?? rates[key];
    return { name, rate: per(Math.max(1, Math.floor(limit * factor)), windowSeconds), subject };
  };
}

type Shared = ReturnType<typeof sharedOf>;
type QuotaOf = ReturnType<typeof createQuotaOf>;
type Refuse = (refusal: LimitRefusal, request: LimitedRequest) => never;
type CodeAttempt = Readonly<Record<'accountId' | 'address' | 'interaction', string>> & {
  /** The browser, where the user has signed in from it before. */
  readonly device: string | undefined;
};

function limitsOf(rates: RateLimits, shared: Shared) {
  const { takeFromLease, secrets, signIn, report } = shared;
  const quotaOf = createQuotaOf(rates);

  function refuse({ name, waitMs }: LimitRefusal, request: LimitedRequest): never {
    report(name, request);
    throw new TooManyRequests(Math.max(1, Math.ceil(waitMs / 1000)));
  }

  async function take(quota: Quota, request: LimitedRequest): Promise<void> {
    const waitMs = await takeFromLease(quota);
    if (waitMs > 0) refuse({ name: quota.name, waitMs }, request);
  }

  /** What a wrong secret counts against. */
  const secretQuota = (endpoint: ClientEndpoint, clientId: string, address: string) =>
    quotaOf(`${endpoint}.failures`, `${clientId}\n${address}`);

  const signIns = createSignInAttempts({ ...signIn, quotaOf, refuse });

  return {
    /**
     * Counts one request of this address at `endpoint`; `userinfo.unknown` is userinfo without a valid token. As each of these, throws
     * TooManyRequests.
     */
    async takeAddress(endpoint: string, address: string): Promise<void> {
      const name = endpoint === 'userinfo.unknown' ? endpoint : `${endpoint}.address`;
      if (!isLimit(name)) throw new TypeError(`${name} is no limit`);
      await take(quotaOf(name, address), { address });
      const ofNetwork = `${endpoint}.network`;
      if (isLimit(ofNetwork)) await take(quotaOf(ofNetwork, networkOf(address)), { address });
    },
    /**
     * Counts one request of a client that has authenticated, or of a public one from that address. `unknown`: one that came to nothing,
     * with a made-up code or a token that isn't live.
     */
    async takeClient(
      endpoint: ClientEndpoint,
      client: Client,
      address: string,
      kind: 'client' | 'unknown' = 'client',
    ): Promise<void> {
      const { clientId, tokenEndpointAuthMethod, rateLimits } = client;
      // Anybody can name a public client, so what one address does isn't counted against the others.
      const subject = tokenEndpointAuthMethod === 'none' ? `${clientId}\n${address}` : clientId;
      await take(quotaOf(`${endpoint}.${kind}`, subject, rateLimits), { address, client_id: clientId });
    },
    /**
     * Whether this client has been right from this address, and nothing was wrong there since. Only then may a secret be
     * looked at before `attemptSecret`; for anybody else that would be a guess that isn't counted.
     */
    isKnownClient: (endpoint: ClientEndpoint, clientId: string, address: string) =>
      secrets.isKnown(secretQuota(endpoint, clientId, address)),
    /** Resolves what `compare` returns, and counts it as an attempt unless it is true; throws before it runs. */
    async attemptSecret(
      endpoint: ClientEndpoint,
      clientId: string,
      address: string,
      compare: () => boolean,
    ): Promise<boolean> {
      const quota = secretQuota(endpoint, clientId, address);
      const request = { address, client_id: clientId };
      return secrets.attempt(quota, (refusal) => refuse(refusal, request), compare);
    },
    /** Counts an attempt before the password is looked at. Throws StoreUnavailable where it can't be counted. */
    takeSignInAttempt: signIns.begin,
    finishSignIn: signIns.finish,
    quotaOf,
    ...fixedLimitsOf(shared, quotaOf, refuse),
  };
}

/** Each counts before anything is looked up or compared. What some resolve takes the count back. */
function fixedLimitsOf({ exact, signIn }: Shared, quotaOf: QuotaOf, refuse: Refuse) {
  async function take(begin: BeginAttempt, request: LimitedRequest, quotas: readonly Quota[]) {
    const { refused, ...taken } = await begin(quotas);
    return refused === undefined ? taken : refuse(refused, request);
  }
  /** Throws StoreUnavailable where it can't count. */
  const guess = async (address: string | undefined, quotas: readonly Quota[]) =>
    (await take(signIn.beginAttempt, { address }, quotas)).takeBack;

  return {
    /** One attempt in all quotas or in none; during an outage by this process alone. `used`: what is in each now. */
    takeExactly: (request: LimitedRequest, quotas: readonly Quota[]) => take(exact, request, quotas),

    /** The same of one that may be a guess: throws StoreUnavailable where it can't count. */
    guess,

    /** A one-time link that doesn't work: made up, used or ended. */
    takeDeadLink: (address: string) =>
      guess(address, [quotaOf('links.address', address), quotaOf('links.network', networkOf(address))]),

    /** One new password that has to be checked; `by` is the link or the user. */
    takeNewPassword: (by: string, address: string) => guess(address, [quotaOf('new_passwords', by)]),

    /** One code of a second factor. Undefined: this sign-in has had its attempts, and is over. */
    async takeCode({ accountId, address, device = '', interaction }: CodeAttempt) {
      const ofSignIn = quotaOf('second_factor.interaction', interaction);
      const ofAccount = quotaOf('second_factor.account', `${accountId}\n${device}`);
      const { refused, takeBack } = await signIn.beginAttempt([ofAccount, ofSignIn]);
      if (refused?.name === ofSignIn.name) return undefined;
      return refused === undefined ? takeBack : refuse(refused, { address });
    },

    /** A passkey of nobody is a failed sign-in of its address. */
    takePasskey: (address: string) => guess(address, placesOf(address, quotaOf)),
  };
}
