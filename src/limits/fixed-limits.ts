// Limits that the file doesn't set: something is being guessed, or another host is asked.
import type { Rate } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { CounterStore } from '../store/store.ts';
import type { Attempts, LimitRefusal } from './attempts.ts';
import type { Quota } from './counters.ts';
import { networkOf } from './network.ts';
import { placesOf, type SignInRates } from './sign-in-attempts.ts';

const RATES = {
  // Codes of a second factor. A million of them are few, and who guesses has the password already. `account` counts browsers where the
  // person has not signed in before together, and each of the others by itself; a sign-in that used up `interaction` is over.
  'second_factor.account': { limit: 20, windowSeconds: 60 * 60 },
  'second_factor.interaction': { limit: 5, windowSeconds: 60 * 60 },
  // Wrong user codes of devices. Of 20^8 codes a few live at a time; all addresses together find none in a lifetime (RFC 8628 §5.1).
  'device.address': { limit: 10, windowSeconds: 10 * 60 },
  'device.network': { limit: 100, windowSeconds: 10 * 60 },
  'device.all': { limit: 300, windowSeconds: 10 * 60 },
  // One-time links that don't work can't be guessed. Each is looked up, and recorded in the audit trail.
  'links.address': { limit: 60, windowSeconds: 10 * 60 },
  'links.network': { limit: 600, windowSeconds: 10 * 60 },
  // Hashing one is slow, and is done one at a time.
  new_passwords: { limit: 10, windowSeconds: 60 * 60 },
  // Documents of clients that nobody uses yet. Anybody can name one; the apps that people sign in with are few, and each is fetched once.
  'documents.address': { limit: 5, windowSeconds: 60 },
  'documents.host': { limit: 10, windowSeconds: 60 },
  'documents.all': { limit: 30, windowSeconds: 60 },
  // Of one document, over all processes: each asks a host that doesn't answer once in half a minute.
  'documents.renewal': { limit: 10, windowSeconds: 60 },
} satisfies Record<string, Rate>;

/** Wrong client credentials, for one client from one address: a wrong deployment is noticed, guessing 128 bits isn't helped. */
export const SECRET_FAILURES: Rate = { limit: 20, windowSeconds: 60 };

export const FIXED_LIMITS: readonly string[] = Object.keys(RATES);

/** As long as a device code lives. */
const POLLS_MS = 20 * 60 * 1000;
const STEP_SECONDS = 5;

type FixedLimitsParts = {
  /** Throws StoreUnavailable where it can't count. */
  readonly guesses: Pick<Attempts, 'begin'>;
  /** Counts alone where the store can't be asked. */
  readonly fetches: Pick<Attempts, 'begin'>;
  readonly counters: CounterStore;
  readonly hash: KeyedHash;
  readonly signInRates: SignInRates;
  readonly refuse: (
    refusal: LimitRefusal,
    request: { readonly address: string; readonly client_id?: string },
  ) => never;
};

const of = (name: keyof typeof RATES, subject: string): Quota => ({ name, rate: RATES[name], subject });

/** Each counts before anything is looked up or compared, and throws TooManyRequests. What some resolve takes the count back. */
export function createFixedLimits(parts: FixedLimitsParts) {
  const { guesses, fetches, counters, hash, signInRates, refuse } = parts;

  async function take(attempts: Pick<Attempts, 'begin'>, quotas: readonly Quota[], address: string) {
    const { refused, takeBack } = await attempts.begin(quotas);
    return refused === undefined ? takeBack : refuse(refused, { address });
  }

  return {
    /** One try of a user code of a device. */
    takeUserCode: (address: string) =>
      take(
        guesses,
        [of('device.address', address), of('device.network', networkOf(address)), of('device.all', '')],
        address,
      ),

    /** A one-time link that doesn't work: made up, used or ended. */
    takeDeadLink: (address: string) =>
      take(guesses, [of('links.address', address), of('links.network', networkOf(address))], address),

    /** One new password that has to be checked; `by` is the link or the user. */
    takeNewPassword: (by: string, address: string) => take(guesses, [of('new_passwords', by)], address),

    /** Whether a device may ask now (RFC 8628 §3.5). Where it may not, each interval is longer from then on. */
    async takeDevicePoll(deviceCode: string, intervalSeconds: number): Promise<boolean> {
      const slower = hash(`device poll steps:${deviceCode}`);
      const window = hash(`device poll:${deviceCode}`);
      const steps = (await counters.read(slower))?.count ?? 0;
      const waitMs = (intervalSeconds + steps * STEP_SECONDS) * 1000;
      const { count } = await counters.increment(window, 1, waitMs);
      if (count === 1) return true;
      await counters.increment(slower, 1, POLLS_MS);
      await counters.set(window, 1, waitMs + STEP_SECONDS * 1000);
      return false;
    },

    /** One fetch of a document that nobody uses yet, for the host that is asked and for the caller. */
    async takeDocument(host: string, address: string): Promise<void> {
      const quotas = [of('documents.address', address), of('documents.host', host), of('documents.all', '')];
      await take(fetches, quotas, address);
    },

    /** The same of a document whose client has tokens, or that the file names itself: what strangers ask for doesn't count against it. */
    async takeRenewal(clientId: string): Promise<void> {
      const { refused } = await fetches.begin([of('documents.renewal', clientId)]);
      if (refused !== undefined) refuse(refused, { address: '', client_id: clientId });
    },

    /**
     * One code of a second factor; `device` names the browser where the person has signed in from it before. Undefined: this sign-in has
     * had its attempts, and is over.
     */
    async takeCode(attempt: {
      readonly accountId: string;
      readonly address: string;
      readonly device: string | undefined;
      readonly interaction: string;
    }): Promise<(() => void) | undefined> {
      const { accountId, address, device = '', interaction } = attempt;
      const ofSignIn = of('second_factor.interaction', interaction);
      const { refused, takeBack } = await guesses.begin([
        of('second_factor.account', `${accountId}\n${device}`),
        ofSignIn,
      ]);
      if (refused?.name === ofSignIn.name) return undefined;
      return refused === undefined ? takeBack : refuse(refused, { address });
    },

    /** A passkey of nobody is a failed sign-in of its address. */
    takePasskey: (address: string) => take(guesses, placesOf(address, signInRates), address),
  };
}
