// The planned life of the ring: what is due next, and the ring after it. Pure; each result is one new generation.
// Emergencies are in emergency.ts.
import {
  activeKey,
  assertNew,
  KeyringError,
  ms,
  reserveKeys,
  scheduledKeys,
  toRingKey,
  type NewKey,
  type Ring,
  type RingKey,
} from './keyring.ts';
import type { Timing } from './timing.ts';

/**
 * `publish`: a reserve is missing. `activate`: make the appointment at which the reserve takes over, and publish the one after
 * it. `extend`: tokens live longer than when the key was retired. `retire`: destroy a private part. `remove`: leave a tombstone.
 */
export type StepKind = 'publish' | 'activate' | 'extend' | 'retire' | 'remove';

export type DueStep = {
  readonly kind: StepKind;
  /** Epoch milliseconds; not after now: due. It depends on the ring alone, so a step that nobody takes is overdue ever longer. */
  readonly at: number;
  readonly kid?: string | undefined;
};

/** The step that comes first. Undefined only when nothing can be planned (this clock is far behind the ring's). */
export function nextStep(ring: Ring, now: number, timing: Timing): DueStep | undefined {
  return plannedSteps(ring, now, timing).reduce<DueStep | undefined>(
    (first, each) => (first === undefined || each.at < first.at ? each : first),
    undefined,
  );
}

function plannedSteps(ring: Ring, now: number, timing: Timing): DueStep[] {
  const steps: DueStep[] = [];
  const active = activeKey(ring, now);
  if (reserveKeys(ring).length === 0) steps.push({ kind: 'publish', at: lastPublishedAt(ring) });
  if (active?.activateAt !== undefined && scheduledKeys(ring, now).length === 0) {
    const at = active.activateAt + ms(timing.rotateEvery - timing.publishAhead);
    steps.push({ kind: 'activate', at, kid: reserveKeys(ring)[0]?.kid });
  }
  for (const key of ring.keys) {
    const { kid, sealed, retireAt, removeAt, compromisedAt } = key;
    if (compromisedAt !== undefined) {
      steps.push({ kind: 'remove', at: compromisedAt + ms(timing.retireToRemove), kid });
    } else if (retireAt !== undefined && removeAt !== undefined) {
      // After the skew: on a slower clock this key still signs, and a restart there needs its private part.
      if (sealed !== undefined) steps.push({ kind: 'retire', at: retireAt + ms(timing.skew), kid });
      steps.push({ kind: 'remove', at: removeAt, kid });
      if (isTooShort(key, now, timing)) steps.push({ kind: 'extend', at: Math.min(retireAt, now), kid });
    }
  }
  return steps;
}

/** True when a step that takes a key out of the reserve must be given a new one. */
export function needsKey(ring: Ring): boolean {
  return reserveKeys(ring).length < 2;
}

/**
 * The ring after the step that is due, or the same ring when none is. Throws KeyringError `key_needed` when it has to
 * publish a key and none was given.
 */
export function step(ring: Ring, now: number, timing: Timing, newKey?: NewKey): Ring {
  const due = nextStep(ring, now, timing);
  if (due === undefined || due.at > now) return ring;
  return TAKE[due.kind](ring, now, timing, newKey);
}

const TAKE = {
  publish: (ring, now, _timing, newKey) => changed(ring, withReserve(ring, ring.keys, now, newKey)),
  activate: (ring, now, timing, newKey) => appoint(ring, now, timing, newKey),
  extend: (ring, now, timing) =>
    changed(
      ring,
      ring.keys.map((key) =>
        isTooShort(key, now, timing) ? { ...key, removeAt: verifiesUntil(key, timing) } : key,
      ),
    ),
  retire: (ring, now, timing) =>
    changed(
      ring,
      ring.keys.map((key) => (isPrivatePartDue(key, now, timing) ? { ...key, sealed: undefined } : key)),
    ),
  remove: bury,
} satisfies Record<StepKind, (ring: Ring, now: number, timing: Timing, newKey?: NewKey) => Ring>;

/**
 * A rotation by hand: the reserve gets the earliest appointment that no verifier can be surprised by; one that exists is
 * brought forward. The same ring when nothing can be earlier.
 */
export function rotateNow(ring: Ring, now: number, timing: Timing, newKey?: NewKey): Ring {
  const scheduled = scheduledKeys(ring, now)[0];
  if (scheduled === undefined) return appoint(ring, now, timing, newKey, now);
  const at = earliestActivation(scheduled, now, timing);
  if (scheduled.activateAt === undefined || at >= scheduled.activateAt) return ring;
  return changed(ring, withAppointment(ring, scheduled.kid, at, timing, scheduled.activateAt));
}

/**
 * Publishes an existing key as the next one to sign. It takes over an appointment that leaves it enough time to become known;
 * otherwise it is first in reserve. Throws KeyringError for a kid or key that was here before.
 */
export function importNext(ring: Ring, newKey: NewKey, now: number, timing: Timing): Ring {
  assertNew(ring, newKey);
  const key = toRingKey(newKey, now);
  const planned = scheduledKeys(ring, now).at(-1);
  const at = planned?.activateAt;
  if (planned === undefined || at === undefined || at < earliestActivation(key, now, timing)) {
    return changed(ring, [key, ...ring.keys]);
  }
  const keys = ring.keys.map((each) => (each === planned ? { ...each, activateAt: undefined } : each));
  return changed(ring, [{ ...key, activateAt: at }, ...keys]);
}

/** The same ring with other keys: one generation on. */
export function changed(ring: Ring, keys: readonly RingKey[]): Ring {
  return { ...ring, generation: ring.generation + 1, keys };
}

/** `keys`, with `newKey` published when they hold no reserve. Throws KeyringError `key_needed` or `duplicate_key`. */
export function withReserve(
  ring: Ring,
  keys: readonly RingKey[],
  now: number,
  newKey: NewKey | undefined,
): readonly RingKey[] {
  if (reserveKeys({ ...ring, keys }).length > 0) return keys;
  if (newKey === undefined) throw new KeyringError('key_needed', 'the ring needs a new key to publish');
  assertNew(ring, newKey);
  return [...keys, toRingKey(newKey, now)];
}

/**
 * When the first reserve will take over as planned, epoch milliseconds; undefined when its appointment is made already or
 * nothing can be planned.
 */
export function plannedActivation(ring: Ring, now: number, timing: Timing): number | undefined {
  const next = reserveKeys(ring)[0];
  const since = activeKey(ring, now)?.activateAt;
  if (next === undefined || since === undefined || scheduledKeys(ring, now).length > 0) return undefined;
  return Math.max(since + ms(timing.rotateEvery), earliestActivation(next, now, timing));
}

function appoint(ring: Ring, now: number, timing: Timing, newKey?: NewKey, wished?: number): Ring {
  const next = reserveKeys(ring)[0];
  if (next === undefined) throw new KeyringError('no_reserve', 'the ring has no key that could sign next');
  const earliest = earliestActivation(next, now, timing);
  const at = wished === undefined ? plannedActivation(ring, now, timing) : Math.max(wished, earliest);
  const keys = withAppointment(ring, next.kid, at ?? earliest, timing);
  return changed(ring, withReserve(ring, keys, now, newKey));
}

// Two bounds: verifiers must have been able to see the key, and every node must have read the appointment before it comes.
function earliestActivation(key: RingKey, now: number, timing: Timing): number {
  return Math.max(key.publishedAt + ms(timing.publishToActivate), now + ms(timing.propagation + timing.skew));
}

/** Gives `kid` its appointment and the key before it the matching end. `before`: the appointment that is being moved. */
function withAppointment(
  ring: Ring,
  kid: string,
  at: number,
  timing: Timing,
  before?: number,
): readonly RingKey[] {
  return ring.keys.map((key) => {
    if (key.kid === kid) return { ...key, activateAt: at };
    const isPredecessor =
      key.compromisedAt === undefined && key.activateAt !== undefined && key.retireAt === before;
    return isPredecessor ? { ...key, retireAt: at, removeAt: at + ms(timing.retireToRemove) } : key;
  });
}

function lastPublishedAt(ring: Ring): number {
  return Math.max(0, ...ring.keys.map(({ publishedAt }) => publishedAt));
}

function verifiesUntil(key: RingKey, timing: Timing): number {
  return (key.retireAt ?? 0) + ms(timing.retireToRemove);
}

function isTooShort(key: RingKey, now: number, timing: Timing): boolean {
  const { retireAt, removeAt, compromisedAt } = key;
  if (compromisedAt !== undefined || retireAt === undefined || removeAt === undefined) return false;
  // Never shortened: two versions of the configuration may run at once, and the longer one has live tokens.
  return removeAt > now && removeAt < verifiesUntil(key, timing);
}

function isPrivatePartDue(key: RingKey, now: number, timing: Timing): boolean {
  return key.sealed !== undefined && key.retireAt !== undefined && key.retireAt + ms(timing.skew) <= now;
}

function bury(ring: Ring, now: number, timing: Timing): Ring {
  const isOver = (key: RingKey): boolean =>
    key.compromisedAt === undefined
      ? key.removeAt !== undefined && key.removeAt <= now
      : key.compromisedAt + ms(timing.retireToRemove) <= now;
  const gone = ring.keys.filter(isOver).map(({ kid, thumbprint, compromisedAt }) => ({
    kid,
    thumbprint,
    end: compromisedAt === undefined ? ('removed' as const) : ('compromised' as const),
    at: compromisedAt ?? now,
  }));
  return {
    ...changed(
      ring,
      ring.keys.filter((key) => !isOver(key)),
    ),
    gone: [...ring.gone, ...gone],
  };
}
