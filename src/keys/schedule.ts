// The planned life of a family of keys (families.ts): which step is due next, the ring after it, and the end of each key. Pure.
// Emergencies are in emergency.ts.
import {
  activeKey,
  KeyringError,
  ms,
  reserveKeys,
  scheduledKeys,
  type Moment,
  type NewKey,
  type Ring,
  type RingKey,
} from './ring.ts';
import type { Timing } from '../config/key-times.ts';

export type Step = Readonly<{
  /**
   * `publish`: a reserve is missing. `activate`: set the time when the reserve takes over, and publish the next reserve.
   * `extend`: tokens live longer than when the key was retired. `retire`: destroy a private part. `remove`: leave a tombstone.
   * `begin` and `drop`: families.ts.
   */
  kind: 'begin' | 'publish' | 'activate' | 'extend' | 'retire' | 'remove' | 'drop';
  /** Epoch milliseconds; due unless later than now. Depends only on the ring, so a step that isn't taken stays overdue. */
  at: number;
  needsKey?: boolean;
  /** Returns the ring after the step. */
  take: (newKey?: NewKey) => Ring;
}>;

/** The steps are in no order. */
export function plannedSteps(ring: Ring, at: Moment): readonly Step[] {
  const { now, timing } = at;
  const steps: Step[] = [];
  if (reserveKeys(ring).length === 0) {
    const due = Math.max(0, ...ring.keys.map((key) => key.publishedAt));
    steps.push({
      kind: 'publish',
      at: due,
      needsKey: true,
      take: (newKey) => withReserve(ring, now, newKey),
    });
  }
  const since = activeKey(ring, now)?.activateAt;
  if (since !== undefined && scheduledKeys(ring, now).length === 0) {
    const planned = since + ms(timing.rotateEvery);
    steps.push({
      kind: 'activate',
      at: planned - ms(timing.publishAhead),
      needsKey: true,
      take: (newKey) => appoint(ring, planned, at, newKey),
    });
  }
  for (const key of ring.keys) steps.push(...stepsOf(key, ring, at));
  return steps;
}

function stepsOf(key: RingKey, ring: Ring, { now, timing }: Moment): readonly Step[] {
  const { kid, sealed, retireAt, removeAt, compromisedAt } = key;
  const remove = () => bury(ring, kid, now);
  const edit = (change: Partial<RingKey>): Ring => ({
    ...ring,
    keys: ring.keys.map((one) => (one === key ? { ...key, ...change } : one)),
  });
  if (compromisedAt !== undefined) {
    return [{ kind: 'remove', at: compromisedAt + ms(timing.retireToRemove), take: remove }];
  }
  if (retireAt === undefined || removeAt === undefined) return [];
  const steps: Step[] = [{ kind: 'remove', at: removeAt, take: remove }];
  // After the skew: on a node with a slower clock, this key still signs, and a restart there needs its private part.
  if (sealed !== undefined) {
    const at = retireAt + ms(timing.skew);
    steps.push({ kind: 'retire', at, take: () => edit({ sealed: undefined }) });
  }
  // Never shortened: two versions of the configuration may run at once, and tokens of the longer one may be live.
  const last = verifiesUntil(retireAt, timing);
  if (removeAt > now && removeAt < last) {
    steps.push({ kind: 'extend', at: Math.min(retireAt, now), take: () => edit({ removeAt: last }) });
  }
  return steps;
}

/** Publishes `newKey` if the ring has no reserve. Returns the same ring otherwise. */
export function withReserve(ring: Ring, now: number, newKey: NewKey | undefined): Ring {
  return reserveKeys(ring).length > 0 ? ring : publish(ring, newKey, { publishedAt: now });
}

/** `newKey` signs at once: verifiers fetch the key set when they meet a kid that they don't know. */
export function publishActive(ring: Ring, { now, timing }: Moment, newKey: NewKey | undefined): Ring {
  // Backdated by the skew, so that a node with a slower clock also has a key at once.
  return publish(ring, newKey, { publishedAt: now, activateAt: now - ms(timing.skew) });
}

function publish(ring: Ring, key: NewKey | undefined, times: Omit<RingKey, keyof NewKey>): Ring {
  if (!key) throw new KeyringError('the ring needs a new key to publish');
  if ([...ring.keys, ...ring.gone].some(({ kid }) => kid === key.kid)) {
    throw new KeyringError(`the kid ${key.kid} has been used: a kid never returns`);
  }
  return { ...ring, keys: [...ring.keys, { ...key, ...times }] };
}

/** Schedules the first reserve to sign from `wished`, or once all verifiers will know it, and the key before it until then. */
export function appoint(ring: Ring, wished: number, at: Moment, newKey: NewKey | undefined): Ring {
  const next = reserveKeys(ring)[0];
  if (!next) throw new KeyringError('the ring has no key that could sign next');
  const activateAt = Math.max(wished, earliestActivation(next, at));
  const keys = ring.keys.map((key) => {
    if (key.kid === next.kid) return { ...key, activateAt };
    const isBefore =
      key.compromisedAt === undefined && key.activateAt !== undefined && key.retireAt === undefined;
    return isBefore ? { ...key, retireAt: activateAt, removeAt: verifiesUntil(activateAt, at.timing) } : key;
  });
  return withReserve({ ...ring, keys }, at.now, newKey);
}

// Two bounds: verifiers must have had time to fetch the key, and every node must have read the schedule before it applies.
const earliestActivation = (key: RingKey, { now, timing }: Moment) =>
  Math.max(key.publishedAt + ms(timing.publishToActivate), now + ms(timing.propagation + timing.skew));

/** When the last token of a key that retires at `retireAt` has expired for all verifiers, caches and clock skew included. */
export const verifiesUntil = (retireAt: number, timing: Timing) => retireAt + ms(timing.retireToRemove);

export function bury(ring: Ring, kid: string, now: number): Ring {
  const buried = ring.keys.filter((key) => key.kid === kid);
  const tombstones = buried.map(({ compromisedAt }) => ({ kid, at: compromisedAt ?? now }));
  return {
    ...ring,
    keys: ring.keys.filter((key) => key.kid !== kid),
    gone: [...ring.gone, ...tombstones],
  };
}
