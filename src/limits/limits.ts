// Every limit of the service by name: what is counted, for whom, and what happens without a store.
//
// Requests must be cheap to count, so they pass from leases (leases.ts). Guesses must be counted exactly: in the shared counter,
// before anything is compared (attempts.ts).
//
// Nothing that somebody can say without proving it counts against anybody else: not the name of a client (secrets count
// for client *and* address, requests after authentication), nor of an account (see sign-in-attempts.ts).
import type { Client, Rate, RateLimits } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, CounterStore } from '../store/store.ts';
import { type Attempts, createAttempts, type LimitRefusal } from './attempts.ts';
import { createCounters, orAlone, type Quota } from './counters.ts';
import { createLeases } from './leases.ts';
import { networkOf } from './network.ts';
import { createSecretAttempts } from './secret-attempts.ts';
import { createSignInAttempts, placesOf, SIGN_IN_LIMITS, type SignInRates } from './sign-in-attempts.ts';

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
const CLIENT_ENDPOINTS = ['token', 'introspection', 'revocation'] as const;
export type ClientEndpoint = (typeof CLIENT_ENDPOINTS)[number];
/** Endpoints that count by address; `pages` are the steps between an authorization request and its answer. */
const ADDRESS_ENDPOINTS = [...CLIENT_ENDPOINTS, 'userinfo', 'authorization', 'logout', 'pages'] as const;
/** `userinfo.unknown` is userinfo without a valid token. */
export type AddressEndpoint = (typeof ADDRESS_ENDPOINTS)[number] | 'userinfo.unknown';

/** Limits that the file doesn't set: something is being guessed, or another host is asked. */
const FIXED = {
  // Codes of a second factor. A million of them are few, and who guesses has the password already. `account` counts browsers where the
  // user has not signed in before together, and each of the others by itself; a sign-in that used up `interaction` is over.
  'second_factor.account': { limit: 20, windowSeconds: 60 * 60 },
  'second_factor.interaction': { limit: 5, windowSeconds: 60 * 60 },
  // Wrong client credentials, for one client from one address: a wrong deployment is noticed, guessing 128 bits isn't helped.
  failures: { limit: 20, windowSeconds: 60 },
  // Wrong user codes of devices. Of 20^8 codes a few live at a time; all addresses together find none in a lifetime (RFC 8628 §5.1).
  'device.address': { limit: 10, windowSeconds: 10 * 60 },
  'device.network': { limit: 100, windowSeconds: 10 * 60 },
  'device.all': { limit: 300, windowSeconds: 10 * 60 },
  // One-time links that don't work can't be guessed. Each is looked up, and recorded in the audit trail.
  'links.address': { limit: 60, windowSeconds: 10 * 60 },
  'links.network': { limit: 600, windowSeconds: 10 * 60 },
  // Hashing one is slow, and is done one at a time.
  new_passwords: { limit: 10, windowSeconds: 60 * 60 },
  // Documents of clients that nobody uses yet. Anybody can name one; the apps that users sign in with are few, and each is fetched once.
  'documents.address': { limit: 5, windowSeconds: 60 },
  'documents.host': { limit: 10, windowSeconds: 60 },
  'documents.all': { limit: 30, windowSeconds: 60 },
  // Of one document, over all processes: each asks a host that doesn't answer once in half a minute.
  'documents.renewal': { limit: 10, windowSeconds: 60 },
} satisfies Record<string, Rate>;

const fixed = (name: keyof typeof FIXED, subject: string): Quota => ({ name, rate: FIXED[name], subject });

/** What a device waits longer after each poll that came too early. */
const STEP_SECONDS = 5;

/** Every name that `onLimited` may get. */
export const LIMIT_NAMES: readonly string[] = [
  ...ADDRESS_ENDPOINTS.map((endpoint) => `${endpoint}.address`),
  'userinfo.unknown',
  'authorization.network',
  'pages.network',
  'logout.network',
  ...CLIENT_ENDPOINTS.flatMap((endpoint) =>
    ['client', 'unknown', 'failures'].map((kind) => `${endpoint}.${kind}`),
  ),
  ...SIGN_IN_LIMITS,
  ...Object.keys(FIXED).filter((name) => name !== 'failures'),
];

/** Whose request met a limit. The client is one of the configuration. */
export type LimitedRequest = { readonly address: string; readonly client_id?: string };

export type Limits = ReturnType<typeof limitsOf>;

export type LimitsParts = {
  readonly counters: CounterStore;
  readonly hash: KeyedHash;
  readonly now: Clock;
  /** A limit was hit: its name, for logs and metrics. */
  readonly onLimited: (limit: string, request: LimitedRequest) => void;
};

// What follows from the rates of the file.
/** Requests without valid client credentials, of one address: a share of what one client may ask for. */
const TOKEN_ADDRESS_SHARE = 1 / 2;
/** Questions of one client about tokens that aren't live. */
const UNKNOWN_SHARE = 1 / 20;
/** Wrong passwords of one address over all accounts. */
const ADDRESS_SIGN_INS_FACTOR = 6;
/** A sign-in is one authorization request and, with a mistyped password, up to ten others. */
const PAGES_FACTOR = 10;
/** For pages that a browser opens without credentials, and failed sign-ins: a /24 or a /48 is cheap to rent. */
const NETWORK_FACTOR = 10;

const times = (rate: Rate, factor: number): Rate => ({
  ...rate,
  limit: Math.max(1, Math.floor(rate.limit * factor)),
});

/**
 * Once for each process. The result makes the limits of one configuration; leases, known clients and what is counted during
 * an outage are common to all of them, so that a reload neither renews nor takes away what a caller has left.
 */
export function createLimits(parts: LimitsParts): (rates: RateLimits) => Limits {
  const shared = sharedOf(parts);
  return (rates) => limitsOf(rates, shared);
}

function sharedOf({ counters: store, hash, now, onLimited }: LimitsParts) {
  const counters = createCounters(store, hash);
  const add = orAlone(counters.add, now);
  const exact = createAttempts(add);
  return {
    takeFromLease: createLeases(add, now),
    secrets: createSecretAttempts(exact, add, now),
    exact,
    // A user's password is worth guessing: where attempts can't be counted, nobody signs in.
    signIn: { counters, attempts: createAttempts(counters.add) },
    store,
    hash,
    onLimited,
  };
}

function addressRateOf(endpoint: AddressEndpoint, rates: RateLimits): Rate {
  if (endpoint === 'pages') return times(rates.authorization, PAGES_FACTOR);
  if (endpoint === 'userinfo.unknown') return rates.userinfo;
  // Introspection and revocation are called by few, trusted hosts: one address may do what one client may.
  return endpoint === 'token' ? times(rates.token, TOKEN_ADDRESS_SHARE) : rates[endpoint];
}

/** What a wrong secret counts against. */
const secretQuota = (endpoint: ClientEndpoint, clientId: string, address: string): Quota => ({
  name: `${endpoint}.failures`,
  rate: FIXED.failures,
  subject: `${clientId}\n${address}`,
});

type Shared = ReturnType<typeof sharedOf>;
type Refuse = (refusal: LimitRefusal, request: LimitedRequest) => never;
type CodeAttempt = Readonly<Record<'accountId' | 'address' | 'interaction', string>> & {
  /** The browser, where the user has signed in from it before. */
  readonly device: string | undefined;
};

function limitsOf(rates: RateLimits, shared: Shared) {
  const { takeFromLease, secrets, signIn, onLimited } = shared;
  function refuse({ name, waitMs }: LimitRefusal, request: LimitedRequest): never {
    onLimited(name, request);
    throw new TooManyRequests(Math.max(1, Math.ceil(waitMs / 1000)));
  }

  async function take(quota: Quota, request: LimitedRequest): Promise<void> {
    const waitMs = await takeFromLease(quota);
    if (waitMs > 0) refuse({ name: quota.name, waitMs }, request);
  }

  async function takeOfClient(name: string, rate: Rate, client: Client, address: string): Promise<void> {
    const { clientId, tokenEndpointAuthMethod } = client;
    // Anybody can name a public client, so what one address does isn't counted against the others.
    const subject = tokenEndpointAuthMethod === 'none' ? `${clientId}\n${address}` : clientId;
    await take({ name, rate, subject }, { address, client_id: clientId });
  }

  const clientRateOf = (endpoint: ClientEndpoint, { rateLimits }: Client) =>
    (endpoint === 'revocation' ? undefined : rateLimits[endpoint]) ?? rates[endpoint];

  const signInRates = {
    accountFailures: rates.signIn,
    addressFailures: times(rates.signIn, ADDRESS_SIGN_INS_FACTOR),
    networkFailures: times(rates.signIn, ADDRESS_SIGN_INS_FACTOR * NETWORK_FACTOR),
  };
  const signIns = createSignInAttempts({ ...signIn, rates: signInRates, refuse });

  return {
    /** Counts one request of this address. As each of these, throws TooManyRequests. */
    async takeAddress(endpoint: AddressEndpoint, address: string): Promise<void> {
      const rate = addressRateOf(endpoint, rates);
      const name = endpoint === 'userinfo.unknown' ? endpoint : `${endpoint}.address`;
      await take({ name, rate, subject: address }, { address });
      if (endpoint === 'authorization' || endpoint === 'logout' || endpoint === 'pages') {
        const network = { rate: times(rate, NETWORK_FACTOR), subject: networkOf(address) };
        await take({ name: `${endpoint}.network`, ...network }, { address });
      }
    },
    /** Counts one request of a client that has authenticated, or of a public one from that address. */
    async takeClient(endpoint: ClientEndpoint, client: Client, address: string): Promise<void> {
      await takeOfClient(`${endpoint}.client`, clientRateOf(endpoint, client), client, address);
    },
    /** Counts one request of a client that came to nothing: with a made-up code or a token that isn't live. */
    async takeUnknown(endpoint: ClientEndpoint, client: Client, address: string): Promise<void> {
      const rate =
        endpoint === 'introspection'
          ? times(rates.introspection, UNKNOWN_SHARE)
          : clientRateOf(endpoint, client);
      await takeOfClient(`${endpoint}.unknown`, rate, client, address);
    },
    /**
     * Whether this client has been right from this address, and nothing was wrong there since. Only then may a secret be
     * looked at before `attemptSecret`; for anybody else that would be a guess that isn't counted.
     */
    isKnownClient: (endpoint: ClientEndpoint, clientId: string, address: string) =>
      secrets.isKnown(secretQuota(endpoint, clientId, address)),
    /** Resolves what `compare` does, and counts it as an attempt unless it is true; throws before it runs. */
    async attemptSecret(
      endpoint: ClientEndpoint,
      clientId: string,
      address: string,
      compare: () => Promise<boolean>,
    ): Promise<boolean> {
      const quota = secretQuota(endpoint, clientId, address);
      const request = { address, client_id: clientId };
      return secrets.attempt(quota, (refusal) => refuse(refusal, request), compare);
    },
    /** Counts an attempt before the password is looked at. Throws StoreUnavailable where it can't be counted. */
    takeSignInAttempt: signIns.begin,
    finishSignIn: signIns.finish,
    ...fixedLimitsOf(shared, signInRates, refuse),
  };
}

/** Each counts before anything is looked up or compared. What some resolve takes the count back. */
function fixedLimitsOf({ exact, signIn, store, hash }: Shared, rates: SignInRates, refuse: Refuse) {
  async function take(attempts: Attempts, request: LimitedRequest, ...quotas: readonly Quota[]) {
    const { refused, takeBack } = await attempts.begin(quotas);
    return refused === undefined ? takeBack : refuse(refused, request);
  }
  /** Throws StoreUnavailable where it can't count. */
  const guess = (address: string, ...quotas: readonly Quota[]) =>
    take(signIn.attempts, { address }, ...quotas);

  return {
    /** One try of a user code of a device. */
    takeUserCode: (address: string) =>
      guess(
        address,
        fixed('device.address', address),
        fixed('device.network', networkOf(address)),
        fixed('device.all', ''),
      ),

    /** A one-time link that doesn't work: made up, used or ended. */
    takeDeadLink: (address: string) =>
      guess(address, fixed('links.address', address), fixed('links.network', networkOf(address))),

    /** One new password that has to be checked; `by` is the link or the user. */
    takeNewPassword: (by: string, address: string) => guess(address, fixed('new_passwords', by)),

    /** Whether a device may ask now (RFC 8628 §3.5). Each poll before that makes it wait longer. */
    async takeDevicePoll(deviceCode: string, intervalSeconds: number): Promise<boolean> {
      const polls = hash(`device poll:${deviceCode}`);
      const { count: early = 0 } = (await store.read(polls)) ?? {};
      const seconds = intervalSeconds + early * STEP_SECONDS;
      return (await store.increment(polls, 1, seconds * 1000, true)).count === 1;
    },

    /** One fetch of a document that nobody uses yet, for the host that is asked and for the caller. */
    takeDocument: (host: string, address: string) =>
      take(
        exact,
        { address },
        fixed('documents.address', address),
        fixed('documents.host', host),
        fixed('documents.all', ''),
      ),

    /** The same of a document whose client has tokens, or that the file names itself: what strangers ask for doesn't count against it. */
    takeRenewal: (clientId: string) =>
      take(exact, { address: '', client_id: clientId }, fixed('documents.renewal', clientId)),

    /** One code of a second factor. Undefined: this sign-in has had its attempts, and is over. */
    async takeCode({ accountId, address, device = '', interaction }: CodeAttempt) {
      const ofSignIn = fixed('second_factor.interaction', interaction);
      const ofAccount = fixed('second_factor.account', `${accountId}\n${device}`);
      const { refused, takeBack } = await signIn.attempts.begin([ofAccount, ofSignIn]);
      if (refused?.name === ofSignIn.name) return undefined;
      return refused === undefined ? takeBack : refuse(refused, { address });
    },

    /** A passkey of nobody is a failed sign-in of its address. */
    takePasskey: (address: string) => guess(address, ...placesOf(address, rates)),
  };
}
