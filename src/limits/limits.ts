// Every limit of the service by name: what is counted, for whom, and what happens without a store.
//
// Requests must be cheap to count, so they count against leases (leases.ts). Guesses must be counted exactly: in the shared
// counter, before anything is compared (attempts.ts).
//
// A claim without proof never counts against others: neither the name of a client (secrets count for client *and* address,
// requests after authentication) nor that of an account (see sign-in-attempts.ts).
import type { Client, RateLimits } from '../config/config.ts';
import type { ClientLimit } from '../config/endpoint-rows.ts';
import { HOUR, MINUTE, type Rate } from '../config/notation.ts';
import type { LimitRow } from '../config/schema-limits.ts';
import { fold } from '../features/index.ts';
import { createThrottle } from '../observability/audit.ts';
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

const per = (limit: number, windowSeconds: number): Rate => ({ limit, windowSeconds });

/**
 * Every limit that has a rate, by its name in logs, metrics and docs/hardening.md: a fixed rate, or a rate of the file and
 * a factor. A client's own rate replaces the rate of the file where the factor is 1.
 */
export const LIMITS = {
  // `client`: requests of an authenticated client. `unknown`: those that failed. `failures`: wrong credentials for it from one address,
  // enough to notice a wrong deployment, too few to guess 128 bits. `address`: all requests of an address without valid credentials.
  // Few, trusted hosts call introspection and revocation, so one address may do there what one client may.
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
  // What a browser opens without credentials also counts by network, because a /24 or a /48 is cheap to rent.
  'authorization.address': ['authorization', 1],
  'authorization.network': ['authorization', 10],
  'logout.address': ['logout', 1],
  'logout.network': ['logout', 10],
  // A sign-in is one authorization request and, with a mistyped password, up to ten others.
  'pages.address': ['authorization', 10],
  'pages.network': ['authorization', 100],
  // Wrong passwords: for one account from one address, and from an address or a network for all accounts.
  'sign_in.account_failures': ['signIn', 1],
  'sign_in.address_failures': ['signIn', 6],
  'sign_in.network_failures': ['signIn', 60],
  // Codes of a second factor: only a million, and an attacker has the password already. `account` counts each known browser of the user
  // separately, and all others together. A sign-in that has used up `interaction` is over.
  'second_factor.account': per(20, HOUR),
  'second_factor.interaction': per(5, HOUR),
  // One-time links that don't work. They can't be guessed, but each is looked up and recorded in the audit trail.
  'links.address': per(60, 10 * MINUTE),
  'links.network': per(600, 10 * MINUTE),
  // Hashing a password is slow, and runs one at a time.
  new_passwords: per(10, HOUR),
  ...fold('limits'),
} satisfies Record<string, LimitRow>;

type LimitName = keyof typeof LIMITS;
const isLimit = (name: string): name is LimitName => name in LIMITS;

export const LIMIT_NAMES: readonly string[] = [...Object.keys(LIMITS), ...SIGN_IN_LIMITS];

/** The endpoint where a client presents its secret, and the address that the request comes from. */
export type ClientPlace = Readonly<{ endpoint: ClientLimit; address: string }>;

/** The caller that exceeded a limit. `client_id`: a client of the configuration. */
type LimitedRequest = Readonly<{ address?: string | undefined; client_id?: string }>;

export type Limits = ReturnType<typeof limitsOf>;

type LimitsParts = Telemetry & Readonly<{ counters: CounterStore; hash: KeyedHash; now: Clock }>;

/**
 * Called once for each process. The result creates the limits of one configuration. All of them share leases, known clients and
 * the counts of an outage, so that a reload neither renews nor reduces what a caller has left.
 */
export function createLimits(parts: LimitsParts): (rates: RateLimits) => Limits {
  const shared = sharedOf(parts);
  return (rates) => limitsOf(rates, shared);
}

/**
 * Counts each hit of a limit in the metrics. Reports a limit in the log and the audit trail once, then at most every ten seconds, so
 * that a flood of requests doesn't flood them. A report names the last request that exceeded the limit.
 */
function createReport({ log, audit, metrics, now }: LimitsParts) {
  const timesToSay = createThrottle(now);
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
    // A user's password is worth guessing: if attempts can't be counted, no user can sign in.
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
  /** The browser, if the user has signed in from it before. */
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

  const secretQuota = ({ endpoint, address }: ClientPlace, clientId: string) =>
    quotaOf(`${endpoint}.failures`, `${clientId}\n${address}`);

  const signIns = createSignInAttempts({ ...signIn, quotaOf, refuse });

  return {
    /**
     * Counts one request of this address at `endpoint`. `userinfo.unknown`: userinfo without a valid token. Throws TooManyRequests, as
     * all functions here do.
     */
    async takeAddress(endpoint: string, address: string): Promise<void> {
      const name = endpoint === 'userinfo.unknown' ? endpoint : `${endpoint}.address`;
      if (!isLimit(name)) throw new TypeError(`${name} is no limit`);
      await take(quotaOf(name, address), { address });
      const ofNetwork = `${endpoint}.network`;
      if (isLimit(ofNetwork)) await take(quotaOf(ofNetwork, networkOf(address)), { address });
    },
    /**
     * Counts one request of an authenticated client, or of a public client from that address. `unknown`: a request that failed, with
     * a made-up code or a token that isn't live.
     */
    async takeClient(
      { endpoint, address }: ClientPlace,
      client: Client,
      kind: 'client' | 'unknown' = 'client',
    ): Promise<void> {
      const { clientId, tokenEndpointAuthMethod, rateLimits } = client;
      // Anyone can name a public client, so requests of one address don't count against the others.
      const subject = tokenEndpointAuthMethod === 'none' ? `${clientId}\n${address}` : clientId;
      await take(quotaOf(`${endpoint}.${kind}`, subject, rateLimits), { address, client_id: clientId });
    },
    /**
     * Whether this client has presented a right secret from this address, and no wrong one since. Only then may a secret be
     * compared before `attemptSecret`; otherwise, that would be a guess that isn't counted.
     */
    isKnownClient: (at: ClientPlace, clientId: string) => secrets.isKnown(secretQuota(at, clientId)),
    /** Resolves the result of `compare`, and counts an attempt unless it is true. Throws before `compare` runs. */
    async attemptSecret(at: ClientPlace, clientId: string, compare: () => boolean): Promise<boolean> {
      const result = await secrets.attempt(secretQuota(at, clientId), compare);
      if (typeof result === 'boolean') return result;
      return refuse(result, { address: at.address, client_id: clientId });
    },
    /** Counts an attempt before the password is compared. Throws StoreUnavailable if it can't be counted. */
    takeSignInAttempt: signIns.begin,
    finishSignIn: signIns.finish,
    quotaOf,
    ...fixedLimitsOf(shared, quotaOf, refuse),
  };
}

/**
 * Limits that count before anything is looked up or compared. They resolve the new counts (`used`) and `takeBack`; `takeCode` resolves
 * only that function.
 */
function fixedLimitsOf({ exact, signIn }: Shared, quotaOf: QuotaOf, refuse: Refuse) {
  async function take(begin: BeginAttempt, request: LimitedRequest, quotas: readonly Quota[]) {
    const { refused, ...taken } = await begin(quotas);
    return refused === undefined ? taken : refuse(refused, request);
  }
  /** Counts in the store or nowhere, such as an attempt that may be a guess: throws StoreUnavailable if it can't count. */
  const takeInStore = (request: LimitedRequest, quotas: readonly Quota[]) =>
    take(signIn.beginAttempt, request, quotas);

  return {
    /** Counts one attempt in all quotas or in none; during an outage, in this process alone. `used`: the new counts. */
    takeExactly: (request: LimitedRequest, quotas: readonly Quota[]) => take(exact, request, quotas),
    takeInStore,

    /** Counts a one-time link that doesn't work: made up, used, expired or revoked. */
    takeDeadLink(address: string) {
      const ofNetwork = quotaOf('links.network', networkOf(address));
      return takeInStore({ address }, [quotaOf('links.address', address), ofNetwork]);
    },

    /** Counts a new password that has to be checked. `by`: the link or the user. */
    takeNewPassword: (by: string, address: string) =>
      takeInStore({ address }, [quotaOf('new_passwords', by)]),

    /** Counts a code of a second factor. Resolves undefined if this sign-in has used up its attempts, and is over. */
    async takeCode({ accountId, address, device = '', interaction }: CodeAttempt) {
      const ofSignIn = quotaOf('second_factor.interaction', interaction);
      const ofAccount = quotaOf('second_factor.account', `${accountId}\n${device}`);
      const { refused, takeBack } = await signIn.beginAttempt([ofAccount, ofSignIn]);
      if (refused?.name === ofSignIn.name) return undefined;
      return refused === undefined ? takeBack : refuse(refused, { address });
    },

    /** Counts a passkey of no user as a failed sign-in of the address. */
    takePasskey: (address: string) => takeInStore({ address }, placesOf(address, quotaOf)),
  };
}
