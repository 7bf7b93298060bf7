// The store's counters by quota. All processes share them. While the store is unavailable, each process counts alone.
import type { Rate } from '../config/notation.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { type Clock, type Count, type CounterStore, ifUnavailable } from '../store/store.ts';
import { Remembered } from './bounded-map.ts';

/** The `rate` of a `subject` for the limit `name`. */
export type Quota = Readonly<{
  name: string;
  rate: Rate;
  subject: string;
  /** Whether each new point restarts the window. */
  isRenewed?: boolean;
}>;

export type Counters = ReturnType<typeof createCounters>;
export type Add = Counters['add'];

/** How long the store isn't asked after a failure, so that an outage delays one request and not every one. */
const PAUSE_MS = 1000;

export const windowOf = ({ rate }: Quota) => rate.windowSeconds * 1000;

export function createCounters(store: CounterStore, hash: KeyedHash) {
  // Hashed, so that caller input never becomes a name in the store, and a name doesn't reveal who was counted.
  const keyOf = ({ name, subject }: Quota) => hash(`limit:${name}:${subject}`);
  return {
    /** Adds `points`, which may be negative, in one atomic step. Never refuses: the count may be more than the limit. */
    add: (quota: Quota, points: number): Promise<Count> =>
      store.increment(keyOf(quota), points, windowOf(quota), quota.isRenewed),
    /** Resolves undefined if no window is open. */
    read: (quota: Quota) => store.read(keyOf(quota)),
    clear: (quota: Quota) => store.remove(keyOf(quota)),
  };
}

/** As `add`, but if the store is unavailable, the process counts alone, so that there is always a limit. */
export function orAlone(add: Add, now: Clock): Add {
  const windows = new Remembered<{ count: number; endsAt: number }>();
  let pausedUntil = -Infinity;

  function addAlone(quota: Quota, points: number): Count {
    const at = now();
    const window = windows.getOrAdd(`${quota.name}\n${quota.subject}`, () => ({ count: 0, endsAt: 0 }));
    if (at >= window.endsAt) Object.assign(window, { count: 0, endsAt: at + windowOf(quota) });
    window.count = Math.max(0, window.count + points);
    return { count: window.count, resetsInMs: window.endsAt - at };
  }

  return async function addOrCountAlone(quota, points) {
    if (performance.now() < pausedUntil) return addAlone(quota, points);
    try {
      return await add(quota, points);
    } catch (error) {
      ifUnavailable(error);
      pausedUntil = performance.now() + PAUSE_MS;
      return addAlone(quota, points);
    }
  };
}

/** Takes one point back in the background. No request waits for it, and a lost one only means one count too many. */
export function giveBack(add: Add, quota: Quota): void {
  add(quota, -1).catch(() => undefined);
}
