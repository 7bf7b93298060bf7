// Decides which password attempts are compared and which must wait (docs/decisions/limits.md). Every attempt is counted in the shared
// counters before the comparison. There are three kinds of places to sign in from:
//
//   - A trusted browser, which has a proof that this user signed in from it, has ten failures in a row of its own, whatever happens to
//     the account or at the same address.
//   - A known address, from which the user signed in before, also has ten, within the limits of the address and its network for all accounts.
//   - Unknown places are all others, and a place above that has used up its ten. They share one row of failures for the account:
//     from the twentieth on, attempts are paced, and at the cap they are refused (NIST SP 800-63B-4 §3.2.2).
import { DAY, HOUR, MINUTE, type Rate } from '../config/notation.ts';
import type { Count } from '../store/store.ts';
import type { BeginAttempt, LimitRefusal } from './attempts.ts';
import { type Counters, giveBack, type Quota } from './counters.ts';
import { networkOf } from './network.ts';

const YEAR = 365 * DAY;
/** With ten of a trusted browser and ten of a known address, this makes 100 in a row. */
export const CAP = 80;
/** From this failure on, the row is paced. One address can't reach it in its first window (`account_failures`). */
export const PACED_FROM = 20;
/** From this failure on, the pace slows down again. */
const SLOWED_FROM = 60;
const FIVE_MINUTES = 5 * MINUTE;
export const KNOWN: Rate = { limit: 10, windowSeconds: YEAR };
const KNOWN_ADDRESS: Rate = { limit: 1, windowSeconds: 90 * DAY };

export type SignInAttempt = Readonly<{
  /** The id of the user, or the typed name if no user has it. */
  account: string;
  /** As in Found (users/accounts.ts): failures from before it changes don't count. */
  since: string;
  exists: boolean;
  address: string;
  /** The browser's name, if the user has signed in from it before. */
  device: string | undefined;
}>;

/** The quotas that follow from `rate_limits.sign_in` (limits.ts). */
type SignInQuotaOf = (
  name: `sign_in.${'account' | 'address' | 'network'}_failures`,
  subject: string,
) => Quota;

type SignInAttemptsParts = Readonly<{
  counters: Counters;
  beginAttempt: BeginAttempt;
  quotaOf: SignInQuotaOf;
  /** Throws when the attempt is refused. */
  refuse: (refusal: LimitRefusal, attempt: Pick<SignInAttempt, 'address'>) => never;
}>;

/** Seconds until the next attempt after this many failures in a row. */
export function waitAfter(failures: number): number {
  if (failures < PACED_FROM) return 0;
  if (failures < SLOWED_FROM) return Math.min(FIVE_MINUTES, 2 ** Math.min(20, failures - PACED_FROM));
  return Math.min(HOUR, FIVE_MINUTES * 2 ** Math.min(20, failures - SLOWED_FROM + 1));
}

/** The limits of attempts that aren't in LIMITS. */
export const SIGN_IN_LIMITS: readonly string[] = ['sign_in.consecutive_failures', 'sign_in.wait'];

const of = (name: string, rate: Rate, subject: string): Quota => ({ name: `sign_in.${name}`, rate, subject });

function quotasOf({ account, since, exists, address, device }: SignInAttempt, quotaOf: SignInQuotaOf) {
  // A name that no user has may look like an id. No id begins with a newline.
  const counted = exists ? account : `\n${account}`;
  const guessed = `${counted}\n${since}`;
  return {
    // Only the row of a real user lasts longer than a day. Made-up names have the same counters, so that both cost the same.
    row: of('consecutive_failures', { limit: CAP, windowSeconds: exists ? YEAR : DAY }, guessed),
    /** The same row for the pace. It ends a day after the last failure, for every name. */
    pace: {
      ...of('paced_failures', { limit: CAP, windowSeconds: DAY }, guessed),
      // The rest of the window then shows when the last failure was.
      isRenewed: true,
    },
    /** Runs from the last sign-in from the address. */
    knownAddress: { ...of('known_address', KNOWN_ADDRESS, `${counted}\n${address}`), isRenewed: true },
    known: of('known_failures', KNOWN, `${guessed}\n${device === undefined ? address : `device ${device}`}`),
    pair: quotaOf('sign_in.account_failures', `${guessed}\n${address}`),
    places: placesOf(address, quotaOf),
  };
}

/** The quotas of failures from an address and its network for all accounts. */
export const placesOf = (address: string, quotaOf: SignInQuotaOf): readonly Quota[] => [
  quotaOf('sign_in.address_failures', address),
  quotaOf('sign_in.network_failures', networkOf(address)),
];

/** The count if no window is open. That of the pace would last a day. */
const NONE: Count = { count: 0, resetsInMs: DAY * 1000 };

const wait = (waitMs: number): LimitRefusal => ({ name: 'sign_in.wait', waitMs: Math.max(1, waitMs) });

export function createSignInAttempts({ counters, beginAttempt, quotaOf, refuse }: SignInAttemptsParts) {
  /** The whole sign-in is done: earlier failures of the user no longer count, and the address is known. */
  async function finish(attempt: SignInAttempt): Promise<void> {
    const { row, pace, known, knownAddress } = quotasOf(attempt, quotaOf);
    const cleared = [row, pace, known].map((one) => counters.clear(one));
    await Promise.all([...cleared, counters.add(knownAddress, 1)]);
  }

  const giveAllBack = (quotas: readonly Quota[]) => quotas.forEach((quota) => giveBack(counters.add, quota));

  async function begin(attempt: SignInAttempt) {
    const { row, pace, known, knownAddress, pair, places } = quotasOf(attempt, quotaOf);
    const isDevice = attempt.device !== undefined;
    const shared = [pair, ...places];
    const [address, all = NONE, paced = NONE, ...ofShared] = await Promise.all(
      [knownAddress, row, pace, ...shared].map((one) => counters.read(one)),
    );
    const counted: Quota[] = [];
    const takeBack = () => giveAllBack(counted.splice(0));
    let failures = 0;

    async function take(...quotas: readonly Quota[]) {
      const begun = await beginAttempt(quotas);
      if (begun.refused === undefined) counted.push(...quotas);
      return begun;
    }

    async function takeAsUnknown(): Promise<LimitRefusal | undefined> {
      // The row of a real user ends later than that of a made-up name, which the response must not reveal.
      const atCap = { name: row.name, waitMs: paced.resetsInMs };
      if (Math.max(paced.count, all.count) >= CAP) return atCap;
      const endsInMs = waitAfter(paced.count) * 1000 - (DAY * 1000 - paced.resetsInMs);
      if (endsInMs > 0) return wait(endsInMs);
      // An attempt that one of these refuses must not delay the next one. So if one is full, the pace is counted after them.
      const isFull = shared.some(({ rate }, index) => (ofShared[index]?.count ?? 0) >= rate.limit);
      const used: number[] = [];
      for (const quotas of isFull ? [[row, ...shared], [pace]] : [[row, ...shared, pace]]) {
        const { refused, used: taken } = await take(...quotas);
        if (refused !== undefined) return shared.some(({ name }) => name === refused.name) ? refused : atCap;
        used.push(...taken);
      }
      const count = used.at(-1) ?? 0;
      failures = Math.max(count, used[0] ?? 0);
      // Another attempt came at the same time, and goes first.
      const isSecond = count > PACED_FROM && count > paced.count + 1;
      return isSecond ? wait(waitAfter(count - 1) * 1000) : undefined;
    }

    /** Counts the attempt, or resolves why it is refused. */
    async function takeAll(): Promise<LimitRefusal | undefined> {
      if (!isDevice && address === undefined) return takeAsUnknown();
      const { refused } = await take(known, ...(isDevice ? [] : places));
      // If the ten are used up, the attempt counts as one from an unknown place.
      return refused?.name === known.name ? takeAsUnknown() : refused;
    }

    let refused: LimitRefusal | undefined;
    try {
      refused = await takeAll();
    } catch (error) {
      // If a later counter can't be asked, nothing is compared and the earlier ones must not keep the attempt.
      takeBack();
      throw error;
    }
    if (refused !== undefined) {
      takeBack();
      refuse(refused, { address: attempt.address });
    }
    return {
      /** Failures in a row of unknown places if this attempt is one; 0 for an attempt that isn't part of that row. */
      failures,
      /** Nothing was compared. */
      takeBack,
      /** The password was right: earlier failures no longer count, and the address is known. */
      async succeed(): Promise<void> {
        takeBack();
        await finish(attempt);
      },
      /** The password was right, and a second factor is pending: the user's own counters keep the attempt until the sign-in is done. */
      keepPending(): void {
        giveAllBack(counted.splice(0).filter((quota) => quota === pair || places.includes(quota)));
      },
    };
  }

  return { begin, finish };
}
