// How many replicas must have a write before it is said to have happened: all that were there, because any of them may be the
// next master, and an old master doesn't hear of that at once. Owns the count and when it may change; sends nothing.
import type { Replication } from './info.ts';

/** What falls again and again must have been higher for a while before it rises: coming and going must not mean 503 for ever. */
const FALLS_WITHOUT_REST = 2;
const LONGEST_REST_MS = 300_000;
/** After so long without a fall a level forgets that there were any. */
const CALM_MS = 600_000;
/** Between two tries to wait for those who are there and too slow. */
const TRIAL_EVERY_MS = 5000;

/** A number that must be reached. It rises by itself, and falls only when it is told to, never below the least. */
interface Level {
  readonly value: number;
  isReached(seen: number, now: number): boolean;
  /** For how long it has not been reached, without getting worse; 0 when it is. */
  missedFor(now: number): number;
  /** To what was seen of late. */
  lower(now: number): void;
  /** Before it was ever seen, unless it must rest. */
  raise(to: number): void;
  /** To what there can be, which is no fall. */
  limit(to: number): void;
}

function createLevel(first: number, least: number): Level {
  let value = Math.max(first, least);
  let missed: { readonly since: number; readonly fewest: number } | undefined;
  let moreSince: number | undefined;
  let loweredAt = Number.NEGATIVE_INFINITY;
  let falls = 0;
  const restMs = () =>
    falls <= FALLS_WITHOUT_REST ? 0 : Math.min(LONGEST_REST_MS, 1000 * 4 ** (falls - FALLS_WITHOUT_REST));

  return {
    get value() {
      return value;
    },
    isReached(seen, now) {
      if (seen <= value) moreSince = undefined;
      if (seen < value) {
        if (missed === undefined || seen < missed.fewest) missed = { since: now, fewest: seen };
        return false;
      }
      missed = undefined;
      if (seen === value) return true;
      moreSince ??= now;
      if (now - moreSince < restMs()) return true;
      [value, moreSince] = [seen, undefined];
      return true;
    },
    missedFor: (now) => (missed === undefined ? 0 : now - missed.since),
    lower(now) {
      value = Math.max(least, missed?.fewest ?? value);
      missed = undefined;
      falls = now - loweredAt > CALM_MS ? 1 : falls + 1;
      loweredAt = now;
    },
    raise(to) {
      if (restMs() === 0) value = Math.max(value, to);
    },
    limit(to) {
      value = Math.max(least, Math.min(value, to));
      if (missed !== undefined && missed.fewest >= value) missed = undefined;
    },
  };
}

/** What is known of the replicas of one master. */
export interface Replicas {
  /** How many to wait for. */
  target(now: number): number;
  /** Whether `confirmed` of them are enough. `told` is what the master said of them afterwards. */
  areEnough(told: Replication, confirmed: number, now: number): boolean;
  /** Whether whoever says this is the master that was met last, and has all replicas that are not given up. */
  isWhole(told: Replication): boolean;
  /** For how long there have been too few; 0 when there are enough. */
  missedFor(now: number): number;
  /** Goes on with fewer, where they were missed for so long at least. */
  lower(graceMs: number, now: number): void;
}

/** A history begins with a promotion. */
type Known = {
  readonly history: string;
  /** Who is attached counts too: WAIT names nobody, and one that was too slow to count may stand in for one that was promoted. */
  readonly attached: Level;
  readonly confirming: Level;
};

/** Nobody goes back to an older one but by mistake, and then what was known of it still holds. */
const FORMER = 4;

/** `least` of them are needed in any case. */
export function createReplicas(least: number): Replicas {
  let known: readonly Known[] = [];
  let current = toKnown({ role: '', history: '', online: 0 }, least);
  let [online, asked, nextTrialAt] = [0, 0, 0];

  function meet(told: Replication): void {
    if (told.history === current.history) return;
    current = known.find(({ history }) => history === told.history) ?? toKnown(told, least);
    known = [current, ...known.filter((one) => one !== current)].slice(0, FORMER);
  }

  return {
    target(now) {
      const { value } = current.confirming;
      asked = now < nextTrialAt ? value : Math.max(value, online);
      return asked;
    },
    areEnough(told, confirmed, now) {
      if (told.role !== 'master') return false;
      meet(told);
      const { attached, confirming } = current;
      // Whoever has joined may be promoted the next moment: it must confirm before it was ever quick, and while it must rest.
      if (told.online > online) confirming.raise(told.online);
      online = told.online;
      const areThere = attached.isReached(online, now);
      if (areThere) confirming.limit(online);
      const isReached = confirming.isReached(confirmed, now);
      if (isReached && asked > confirmed) nextTrialAt = now + TRIAL_EVERY_MS;
      return areThere && isReached;
    },
    isWhole: (told) =>
      told.role === 'master' && told.history === current.history && told.online >= current.attached.value,
    missedFor: (now) => Math.max(current.attached.missedFor(now), current.confirming.missedFor(now)),
    lower(graceMs, now) {
      const { attached, confirming } = current;
      if (attached.missedFor(now) >= graceMs) {
        attached.lower(now);
        confirming.limit(attached.value);
      }
      if (confirming.missedFor(now) >= graceMs) confirming.lower(now);
    },
  };
}

/** Another history is another server, or the same one after a promotion: nothing is known yet but what it says. */
function toKnown({ history, online }: Replication, least: number): Known {
  return { history, attached: createLevel(online, 0), confirming: createLevel(online, least) };
}
