// A leaked signing key: out of the ring at once, and the reserve signs. Pure, as ring-steps.ts; owns only this one change.
import { KeyringError, ms, type NewKey, type Ring, type RingKey } from './keyring.ts';
import { changed, withReserve } from './ring-steps.ts';
import type { Timing } from './timing.ts';

/**
 * Takes `kid` out of the ring for ever. If it may be signing on any node, the reserve that verifiers have known longest signs
 * at once; `newKey` becomes the reserve when none is left. The same ring when the kid is compromised or gone already.
 * Throws KeyringError: `unknown_kid`, `key_needed`.
 */
export function compromise(ring: Ring, kid: string, now: number, timing: Timing, newKey?: NewKey): Ring {
  const target = ring.keys.find((key) => key.kid === kid);
  if (target === undefined) {
    if (ring.gone.some((tombstone) => tombstone.kid === kid)) return ring;
    throw new KeyringError('unknown_kid', `there is no key ${kid}`);
  }
  if (target.compromisedAt !== undefined) return ring;
  const keys = ring.keys.map((key) =>
    key === target ? { ...key, compromisedAt: now, sealed: undefined } : key,
  );
  const rest: Ring = { ...ring, keys };
  const settled = maySign(target, now, timing) ? succeed(rest, now, timing) : cancel(rest, target, now);
  return changed(ring, withReserve(ring, settled, now, newKey));
}

/** Whether any node may sign with this key now, its clock being off by at most the skew. */
function maySign(key: RingKey, now: number, { skew }: Timing): boolean {
  if (key.activateAt === undefined || key.activateAt > now + ms(skew)) return false;
  return key.retireAt === undefined || key.retireAt > now - ms(skew);
}

function succeed(ring: Ring, now: number, timing: Timing): readonly RingKey[] {
  const reach = now + ms(timing.skew);
  // Dated back by the skew: every node that reads this ring obeys at once, whatever its clock.
  const at = now - ms(timing.skew);
  const isAhead = (key: RingKey): boolean => key.activateAt === undefined || key.activateAt > reach;
  const live = ring.keys.filter((key) => key.compromisedAt === undefined);
  const takingOver = live.findLast(
    (key) => !isAhead(key) && (key.retireAt === undefined || key.retireAt > reach),
  );
  const heir = takingOver ?? longestKnown(live.filter(isAhead));
  if (heir === undefined) throw new KeyringError('no_reserve', 'the ring has no key that could sign now');

  return ring.keys.map((key): RingKey => {
    if (key.compromisedAt !== undefined) return key;
    if (key === takingOver) return { ...key, activateAt: Math.min(key.activateAt ?? at, at) };
    if (key === heir) return { ...withoutAppointment(key), activateAt: at };
    // The emergency starts a new timetable; with `takingOver` the old one still holds.
    if (isAhead(key)) return takingOver === undefined ? withoutAppointment(key) : key;
    // A slow clock may still sign with the key before the leaked one. removeAt stays: its tokens are good.
    return { ...key, retireAt: Math.min(key.retireAt ?? at, at) };
  });
}

/** A key that was to sign later never will: whoever it would have replaced goes on. */
function cancel(ring: Ring, target: RingKey, now: number): readonly RingKey[] {
  const { activateAt, retireAt, removeAt } = target;
  if (activateAt === undefined || activateAt <= now) return ring.keys;
  return ring.keys.map((key) =>
    key.compromisedAt === undefined && key.retireAt === activateAt ? { ...key, retireAt, removeAt } : key,
  );
}

function longestKnown(keys: readonly RingKey[]): RingKey | undefined {
  return keys.toSorted((a, b) => a.publishedAt - b.publishedAt)[0];
}

function withoutAppointment(key: RingKey): RingKey {
  return { ...key, activateAt: undefined, retireAt: undefined, removeAt: undefined };
}
