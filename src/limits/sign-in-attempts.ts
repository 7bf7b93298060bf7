// Which password attempts are compared and which have to wait. Every attempt is counted in the shared counters before the
// comparison. There are three kinds of places to sign in from:
//
//   - A trusted browser, which carries a proof that this person signed in from it: ten failures in a row of its own, whatever
//     happens to the account or at the same address.
//   - A known address, from which the person signed in before: ten failures in a row as well, within what the address and
//     its network may fail with over all accounts.
//   - Unknown places, which is everything else and a place above that has used up its ten. They share one row of failures for
//     the account: from the twentieth on attempts are paced, and at the cap they are refused (NIST SP 800-63B-4 §3.2.2).
import type { Rate } from '../config/config.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { Counted, Counting } from './counting.ts';
import { networkOf } from './network.ts';

const DAY = 24 * 60 * 60;
const YEAR = 365 * DAY;
/** With ten of a trusted browser and ten of a known address that makes 100 in a row. */
export const CAP = 80;
/** From this failure on the row is paced. It is more than one address may fail with (`account_failures`) in its first window. */
export const PACED_FROM = 20;
/** From this failure on the pace slows down again. */
const SLOWED_FROM = 60;
const FIVE_MINUTES = 5 * 60;
const HOUR = 60 * 60;
export const KNOWN: Rate = { limit: 10, windowSeconds: YEAR };
const KNOWN_ADDRESS: Rate = { limit: 1, windowSeconds: 90 * DAY };

export type SignInAttempt = {
  /** The id of the person, or the name where no person has it. */
  readonly account: string;
  /** Changes with the password and when an operator enables the account; failures from before don't count. */
  readonly since: string;
  readonly exists: boolean;
  readonly address: string;
  /** The browser's name, where the person has signed in from it before. */
  readonly device: string | undefined;
};

export type BegunSignIn = {
  /** Failures in a row of unknown places if this attempt is one; 0 for an attempt that isn't part of that row. */
  readonly failures: number;
  /** The password was right: earlier failures no longer count, and the address is known. */
  succeed(): Promise<void>;
  /** Nothing was compared. */
  takeBack(): void;
};

/** The counters that the configuration sets. */
export type SignInRates = {
  readonly accountFailures: Rate;
  readonly addressFailures: Rate;
  readonly networkFailures: Rate;
};

export type SignInAttemptsParts = {
  readonly counting: Counting;
  readonly attempts: Attempts;
  readonly rates: SignInRates;
  /** Throws when the attempt is refused. */
  readonly refuse: (refused: { readonly name: string; readonly waitMs: number }) => void;
};

/** Seconds until the next attempt after so many failures in a row. */
export function waitAfter(failures: number): number {
  if (failures < PACED_FROM) return 0;
  if (failures < SLOWED_FROM) return Math.min(FIVE_MINUTES, 2 ** Math.min(20, failures - PACED_FROM));
  return Math.min(HOUR, FIVE_MINUTES * 2 ** Math.min(20, failures - SLOWED_FROM + 1));
}

const of = (name: string, rate: Rate, subject: string): Counted => ({
  name: `sign_in.${name}`,
  rate,
  subject,
});

type Counters = ReturnType<typeof countersOf>;

function countersOf(attempt: SignInAttempt, { rates }: SignInAttemptsParts) {
  const { account, since, exists, address, device } = attempt;
  const guessed = `${account}\n${since}`;
  return {
    // Only the row of a real person outlives a day. Made-up names have the same counters, so that both cost the same.
    row: of('consecutive_failures', { limit: CAP, windowSeconds: exists ? YEAR : DAY }, guessed),
    /** The same row as far as it paces; ends a day after the last failure, for every name. */
    pace: of('paced_failures', { limit: CAP, windowSeconds: DAY }, guessed),
    turn: (seconds: number) => of('wait', { limit: 1, windowSeconds: seconds }, guessed),
    knownAddress: of('known_address', KNOWN_ADDRESS, `${account}\n${address}`),
    known: of('known_failures', KNOWN, `${guessed}\n${device === undefined ? address : `device ${device}`}`),
    pair: of('account_failures', rates.accountFailures, `${guessed}\n${address}`),
    places: [
      of('address_failures', rates.addressFailures, address),
      of('network_failures', rates.networkFailures, networkOf(address)),
    ],
  };
}

/** `taken`: what was counted, and is taken back when nothing was compared or the password was right. */
type Begun = { readonly failures: number; readonly taken: readonly Pick<Attempt, 'takeBack'>[] };
/** Refused with `dry_run` on: the attempt goes on, and nothing is left to take back. */
const NOTHING: Begun = { failures: 0, taken: [] };

/** If a later counter can't be asked, nothing is compared and the earlier ones must not keep the attempt. */
async function orTakenBack<T>(begun: Pick<Attempt, 'takeBack'>, next: Promise<T>): Promise<T> {
  try {
    return await next;
  } catch (error) {
    begun.takeBack();
    throw error;
  }
}

/** Undefined where the ten are used up: the attempt is then one of an unknown place. */
async function beginKnown(
  { attempts, refuse }: SignInAttemptsParts,
  counters: Counters,
  isDevice: boolean,
): Promise<Begun | undefined> {
  const own = await attempts.begin([counters.known]);
  if (own.refused !== undefined) return undefined;
  if (isDevice) return { failures: 0, taken: [own] };
  const places = await orTakenBack(own, attempts.begin(counters.places));
  if (places.refused === undefined) return { failures: 0, taken: [own, places] };
  own.takeBack();
  refuse(places.refused);
  return NOTHING;
}

/** What stands in the row already: as far as it paces, over all, and how long a refusal is said to last. */
type Row = { readonly paced: number; readonly all: number; readonly endsInMs: number };

async function beginUnknown(parts: SignInAttemptsParts, counters: Counters, before: Row): Promise<Begun> {
  const { counting, attempts, refuse } = parts;
  const { row, pace, pair, places } = counters;
  if (Math.max(before.paced, before.all) >= CAP) {
    refuse({ name: row.name, waitMs: before.endsInMs });
    return NOTHING;
  }
  const counted = await attempts.begin([row, pair, ...places]);
  if (counted.refused !== undefined) {
    // The row of a real person ends later than that of a made-up name, and the answer must not say so.
    const { name, waitMs } = counted.refused;
    refuse({ name, waitMs: name === row.name ? before.endsInMs : waitMs });
    return NOTHING;
  }
  const isPaced = before.paced + 1 >= PACED_FROM;
  if (isPaced && !(await takeTurn(parts, counters, counted, before.paced + 1))) return NOTHING;
  const { used } = await orTakenBack(counted, counting.renew(pace, 1));
  const paced = { takeBack: () => counting.takeBack(pace) };
  // Attempts at the same moment read a lower count before.
  if (!isPaced && used >= PACED_FROM) {
    if (await orTakenBack(paced, takeTurn(parts, counters, counted, PACED_FROM))) {
      return { failures: used, taken: [counted, paced] };
    }
    paced.takeBack();
    return NOTHING;
  }
  return { failures: Math.max(used, counted.used), taken: [counted, paced] };
}

/** One attempt has the turn until the next one may come. False: another one has it, with `dry_run` on. */
async function takeTurn(
  { counting, refuse }: SignInAttemptsParts,
  { turn }: Counters,
  counted: Attempt,
  failures: number,
): Promise<boolean> {
  const wait = turn(waitAfter(failures));
  const { used, resetsInMs } = await orTakenBack(counted, counting.add(wait, 1));
  if (used === 1) return true;
  counted.takeBack();
  refuse({ name: wait.name, waitMs: Math.max(1, resetsInMs) });
  return false;
}

export function createSignInAttempts(
  parts: SignInAttemptsParts,
): (attempt: SignInAttempt) => Promise<BegunSignIn> {
  const { counting, attempts } = parts;

  return async function begin(attempt) {
    const counters = countersOf(attempt, parts);
    const { row, pace, turn, known, knownAddress } = counters;
    const isDevice = attempt.device !== undefined;
    const [address, all, paced] = await Promise.all([
      counting.read(knownAddress),
      counting.read(row),
      counting.read(pace),
    ]);
    const asKnown =
      isDevice || address !== undefined ? await beginKnown(parts, counters, isDevice) : undefined;
    const { failures, taken } =
      asKnown ??
      (await beginUnknown(parts, counters, {
        paced: paced?.used ?? 0,
        all: all?.used ?? 0,
        endsInMs: paced?.resetsInMs ?? DAY * 1000,
      }));
    const takeBack = () => taken.forEach((one) => one.takeBack());
    return {
      failures,
      takeBack,
      async succeed() {
        takeBack();
        await Promise.all([
          ...[row, pace, turn(1), known].map((one) => counting.clear(one)),
          counting.mark(knownAddress),
        ]);
        attempts.forget([row, known]);
      },
    };
  };
}
