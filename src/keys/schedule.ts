// The planned life of a family of keys (families.ts): which step is due next, the ring after it, and what becomes of each key. Pure. Emergencies are in
// emergency.ts.
import {
  activeKey,
  assertNew,
  KeyringError,
  ms,
  reserveKeys,
  scheduledKeys,
  type NewKey,
  type Ring,
  type RingKey,
} from './ring.ts';
import type { Timing } from '../config/key-times.ts';

/**
 * `publish`: a reserve is missing. `activate`: make the appointment at which the reserve takes over, and publish the one after
 * it. `extend`: tokens live longer than when the key was retired. `retire`: destroy a private part. `remove`: leave a tombstone.
 * `at` in epoch milliseconds; not after now: due. It depends on the ring alone, so a step that isn't taken is overdue ever longer.
 */
export type DueStep =
  | { readonly kind: 'publish' | 'activate'; readonly at: number }
  | { readonly kind: 'extend' | 'retire' | 'remove'; readonly at: number; readonly kid: string };

/** All that is planned, in no order. */
export function plannedSteps(ring: Ring, now: number, timing: Timing): readonly DueStep[] {
  const steps: DueStep[] = [];
  if (reserveKeys(ring).length === 0) {
    steps.push({ kind: 'publish', at: Math.max(0, ...ring.keys.map((key) => key.publishedAt)) });
  }
  const since = activeKey(ring, now)?.activateAt;
  if (since !== undefined && scheduledKeys(ring, now).length === 0) {
    steps.push({ kind: 'activate', at: since + ms(timing.rotateEvery - timing.publishAhead) });
  }
  for (const key of ring.keys) steps.push(...stepsOf(key, now, timing));
  return steps;
}

function stepsOf(key: RingKey, now: number, timing: Timing): readonly DueStep[] {
  const { kid, sealed, retireAt, removeAt, compromisedAt } = key;
  if (compromisedAt !== undefined) {
    return [{ kind: 'remove', at: compromisedAt + ms(timing.retireToRemove), kid }];
  }
  if (retireAt === undefined || removeAt === undefined) return [];
  const steps: DueStep[] = [{ kind: 'remove', at: removeAt, kid }];
  // After the skew: on a slower clock this key still signs, and a restart there needs its private part.
  if (sealed !== undefined) steps.push({ kind: 'retire', at: retireAt + ms(timing.skew), kid });
  // Never shortened: two versions of the configuration may run at once, and the longer one has live tokens.
  if (removeAt > now && removeAt < verifiesUntil(retireAt, timing)) {
    steps.push({ kind: 'extend', at: Math.min(retireAt, now), kid });
  }
  return steps;
}

/** The ring after `due`. */
export function takeStep(ring: Ring, due: DueStep, now: number, timing: Timing, newKey?: NewKey): Ring {
  switch (due.kind) {
    case 'publish':
      return withReserve(ring, now, newKey);
    case 'activate': {
      const since = activeKey(ring, now)?.activateAt;
      const planned = since === undefined ? now : since + ms(timing.rotateEvery);
      return appoint(ring, planned, now, timing, newKey);
    }
    case 'extend':
      return edit(ring, due.kid, ({ retireAt = 0 }) => ({ removeAt: verifiesUntil(retireAt, timing) }));
    case 'retire':
      return edit(ring, due.kid, () => ({ sealed: undefined }));
    case 'remove':
      break;
  }
  return bury(ring, due.kid, now);
}

/**
 * A manual rotation: schedules the reserve for the earliest time that all verifiers will know it. Returns the same ring if a key is
 * scheduled already.
 */
export const rotateNow = (ring: Ring, now: number, timing: Timing, newKey?: NewKey): Ring =>
  scheduledKeys(ring, now).length > 0 ? ring : appoint(ring, now, now, timing, newKey);

/** The ring, with `newKey` published when it has no reserve. */
export function withReserve(ring: Ring, now: number, newKey: NewKey | undefined): Ring {
  if (reserveKeys(ring).length > 0) return ring;
  if (!newKey) throw new KeyringError('the ring needs a new key to publish');
  assertNew(ring, newKey);
  return { ...ring, keys: [...ring.keys, { ...newKey, publishedAt: now }] };
}

/** Lets the first reserve sign from `wished` on, or as soon as it can, and the key before it until then. */
function appoint(ring: Ring, wished: number, now: number, timing: Timing, newKey: NewKey | undefined): Ring {
  const next = reserveKeys(ring)[0];
  if (!next) throw new KeyringError('the ring has no key that could sign next');
  const at = Math.max(wished, earliestActivation(next, now, timing));
  const keys = ring.keys.map((key) => {
    if (key.kid === next.kid) return { ...key, activateAt: at };
    const isBefore =
      key.compromisedAt === undefined && key.activateAt !== undefined && key.retireAt === undefined;
    return isBefore ? { ...key, retireAt: at, removeAt: verifiesUntil(at, timing) } : key;
  });
  return withReserve({ ...ring, keys }, now, newKey);
}

// Two bounds: verifiers must have had time to fetch the key, and every node must have read the schedule before it applies.
const earliestActivation = (key: RingKey, now: number, timing: Timing): number =>
  Math.max(key.publishedAt + ms(timing.publishToActivate), now + ms(timing.propagation + timing.skew));

/** When the last token of a key that retires then has ended, with all that differs. */
export const verifiesUntil = (retireAt: number, timing: Timing): number =>
  retireAt + ms(timing.retireToRemove);

function edit(ring: Ring, kid: string, change: (key: RingKey) => Partial<RingKey>): Ring {
  return { ...ring, keys: ring.keys.map((key) => (key.kid === kid ? { ...key, ...change(key) } : key)) };
}

export function bury(ring: Ring, kid: string, now: number): Ring {
  const buried = ring.keys.filter((key) => key.kid === kid);
  const tombstones = buried.map(({ compromisedAt }) => ({ kid, at: compromisedAt ?? now }));
  return {
    ...ring,
    keys: ring.keys.filter((key) => key.kid !== kid),
    gone: [...ring.gone, ...tombstones],
  };
}
