// When a person types a password: who may have it compared, and who has to wait. Everything is counted in the shared
// counters before the comparison (LG-24). Three kinds of callers, so that nobody can lock out anybody else (LG-25):
//
//   - A known browser, which carries a proof that this person signed in from it: ten failures in a row of its own, whatever
//     others do to the account or from the same address.
//   - A known address, from which the person signed in before: ten failures in a row as well, within what the address and
//     its network may fail with over all accounts.
//   - Strangers, and who has used up those ten: failures count for the account, wherever they come from. After some
//     each makes the next wait longer, and in the end they are refused (NIST SP 800-63B-4 §3.2.2), until the person signs
//     in or an operator acts.
import type { Rate } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { Counted, Counting } from './counting.ts';
import { networkOf } from './network.ts';

const DAY = 24 * 60 * 60;
/** Counters end by themselves, so "until" is a year. */
const LONG = 365 * DAY;
/** With the ten of a known browser and the ten of a known address that makes 100 in a row. */
export const STRANGERS: Rate = { limit: 80, windowSeconds: LONG };
export const KNOWN: Rate = { limit: 10, windowSeconds: LONG };
const KNOWN_ADDRESS: Rate = { limit: 1, windowSeconds: 90 * DAY };
/** From this failure on strangers wait. More than one address may fail with (`account_failures`) in its first window. */
const FREE = 20;
/** NIST SP 800-63B-4 §3.2.2: > 30 seconds up to an hour. */
const LONGEST_WAIT = 60 * 60;

export type SignInAttempt = {
  /** Who is meant: the id of a person, or the name that nobody has. */
  readonly account: string;
  /** Failures count for this password, and only until an operator acts: whatever it is, another one starts at zero. */
  readonly since: string;
  readonly exists: boolean;
  readonly address: string;
  /** The browser, where the person has signed in from it before. */
  readonly device: string | undefined;
};

export type BegunSignIn = {
  /** The password was right: what failed before doesn't count any more, and the address is known. */
  succeed(): Promise<void>;
  /** Nothing was compared. */
  takeBack(): void;
};

/** The counters that people set in the configuration. */
export type SignInRates = {
  readonly accountFailures: Rate;
  readonly addressFailures: Rate;
  readonly networkFailures: Rate;
};

export type SignInAttemptsParts = {
  readonly counting: Counting;
  readonly attempts: Attempts;
  readonly rates: SignInRates;
  readonly hash: KeyedHash;
  /** Throws when the attempt is refused. */
  readonly refuse: (refused: { readonly name: string; readonly waitMs: number }) => void;
};

/** Seconds that strangers wait after so many failures in a row. */
export function waitAfter(failures: number): number {
  return failures < FREE ? 0 : Math.min(LONGEST_WAIT, 2 ** Math.min(20, failures - FREE));
}

const of = (name: string, rate: Rate, subject: string): Counted => ({
  name: `sign_in.${name}`,
  rate,
  subject,
});

/** Names that nobody has share 65,536 long counters: made-up names must not fill the store. */
const bucketOf = (name: string, hash: KeyedHash): number =>
  Buffer.from(hash(`nobody:${name}`), 'base64url').readUInt16BE(0);

type Counters = ReturnType<typeof countersOf>;

function countersOf(attempt: SignInAttempt, { rates, hash }: SignInAttemptsParts) {
  const { account, since, exists, address, device } = attempt;
  const guessed = `${account}\n${since}`;
  const longLived = exists ? guessed : `nobody ${bucketOf(account, hash)}`;
  return {
    strangers: of('consecutive_failures', STRANGERS, longLived),
    turn: (seconds: number) => of('wait', { limit: 1, windowSeconds: seconds }, longLived),
    knownAddress: of('known_address', KNOWN_ADDRESS, `${account}\n${address}`),
    known: of('known_failures', KNOWN, `${guessed}\n${device === undefined ? address : `device ${device}`}`),
    pair: of('account_failures', rates.accountFailures, `${guessed}\n${address}`),
    places: [
      of('address_failures', rates.addressFailures, address),
      of('network_failures', rates.networkFailures, networkOf(address)),
    ],
  };
}

/** Where a later counter can't be asked nothing is compared, so the earlier ones must not keep the attempt. */
async function orTakenBack<T>(begun: Attempt, next: Promise<T>): Promise<T> {
  try {
    return await next;
  } catch (error) {
    begun.takeBack();
    throw error;
  }
}

export function createSignInAttempts(
  parts: SignInAttemptsParts,
): (attempt: SignInAttempt) => Promise<BegunSignIn> {
  const { counting, attempts, refuse } = parts;

  /** What was counted for somebody known, or undefined when they are to be treated as a stranger. */
  async function beginKnown(counters: Counters, isDevice: boolean): Promise<readonly Attempt[] | undefined> {
    const own = await attempts.begin([counters.known]);
    if (own.refused !== undefined) return undefined;
    if (isDevice) return [own];
    const places = await orTakenBack(own, attempts.begin(counters.places));
    if (places.refused === undefined) return [own, places];
    own.takeBack();
    refuse(places.refused);
    // With `dry_run` it goes on, and there is nothing left to take back.
    return [];
  }

  /** `before`: failures that already stand there. */
  async function beginStranger(
    { strangers, turn, pair, places }: Counters,
    before: number,
  ): Promise<readonly Attempt[]> {
    const begun = await attempts.begin([strangers, pair, ...places]);
    if (begun.refused !== undefined) refuse(begun.refused);
    const seconds = waitAfter(Math.max(before + 1, begun.used));
    if (seconds === 0) return [begun];
    // One attempt has the turn, and it is over when the next one may come. Others at this moment made `used` greater than
    // it will be, so the wait follows from what was there before.
    const wait = turn(waitAfter(Math.max(FREE, before + 1)));
    const { used, resetsInMs } = await orTakenBack(begun, counting.add(wait, 1));
    if (used === 1) return [begun];
    begun.takeBack();
    refuse({ name: wait.name, waitMs: Math.max(1, resetsInMs) });
    return [];
  }

  return async function begin(attempt) {
    const counters = countersOf(attempt, parts);
    const isDevice = attempt.device !== undefined;
    const [address, failures] = await Promise.all([
      counting.read(counters.knownAddress),
      counting.read(counters.strangers),
    ]);
    const asKnown = isDevice || address !== undefined ? await beginKnown(counters, isDevice) : undefined;
    const counted = asKnown ?? (await beginStranger(counters, failures?.used ?? 0));
    const takeBack = () => counted.forEach((one) => one.takeBack());
    return {
      takeBack,
      async succeed() {
        takeBack();
        const { strangers, turn, known, knownAddress } = counters;
        await Promise.all([
          ...[strangers, turn(1), known].map((one) => counting.clear(one)),
          counting.mark(knownAddress),
        ]);
        attempts.forget([strangers, known]);
      },
    };
  };
}
