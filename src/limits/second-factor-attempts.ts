// How often codes are tried. A million of them are few: each is counted before it is looked at, for the person, over all sign-ins and
// processes; and a right password, which the caller has, changes nothing about it.
import type { Rate } from '../config/config.ts';
import type { Attempts, LimitRefusal } from './attempts.ts';
import type { Quota } from './counters.ts';
import { networkOf } from './network.ts';

const RATES = {
  /** From browsers where the person has not signed in before, and for each of the others by itself. */
  'second_factor.account': { limit: 20, windowSeconds: 60 * 60 },
  /** Of one sign-in, which is over then. */
  'second_factor.interaction': { limit: 5, windowSeconds: 60 * 60 },
} satisfies Record<string, Rate>;

const PASSKEY_ADDRESS = 'sign_in.address_failures';
const PASSKEY_NETWORK = 'sign_in.network_failures';

export const SECOND_FACTOR_LIMITS: readonly string[] = Object.keys(RATES);

export type SecondFactorAttempt = {
  readonly accountId: string;
  readonly address: string;
  /** The browser's name, where the person has signed in from it before. */
  readonly device: string | undefined;
  /** The uid. */
  readonly interaction: string;
};

/** Undoes the count: it was right, or nothing was looked at. */
export type TakeBack = () => void;

/** Each counts first. Throws TooManyRequests, and StoreUnavailable where it can't be counted. */
export interface SecondFactorLimits {
  /** Undefined: this sign-in has had its attempts, and is over. */
  takeCode(attempt: SecondFactorAttempt): Promise<TakeBack | undefined>;
  /** A passkey of nobody is a failed sign-in of its address. */
  takePasskey(address: string): Promise<TakeBack>;
}

export type SecondFactorLimitsParts = {
  readonly attempts: Pick<Attempts, 'begin'>;
  readonly rates: { readonly addressFailures: Rate; readonly networkFailures: Rate };
  readonly refuse: (refusal: LimitRefusal, request: { readonly address: string }) => void;
};

const of = (name: keyof typeof RATES, subject: string): Quota => ({ name, rate: RATES[name], subject });

export function createSecondFactorLimits(parts: SecondFactorLimitsParts): SecondFactorLimits {
  const { attempts, rates, refuse } = parts;

  return {
    async takeCode({ accountId, address, device, interaction }) {
      const ofPerson = of('second_factor.account', `${accountId}\n${device ?? ''}`);
      const ofSignIn = of('second_factor.interaction', interaction);
      const { refused, takeBack } = await attempts.begin([ofPerson, ofSignIn]);
      if (refused?.name === ofSignIn.name) return undefined;
      if (refused !== undefined) refuse(refused, { address });
      return takeBack;
    },
    async takePasskey(address) {
      const { refused, takeBack } = await attempts.begin([
        { name: PASSKEY_ADDRESS, rate: rates.addressFailures, subject: address },
        { name: PASSKEY_NETWORK, rate: rates.networkFailures, subject: networkOf(address) },
      ]);
      if (refused !== undefined) refuse(refused, { address });
      return takeBack;
    },
  };
}
