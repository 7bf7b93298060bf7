// Revokes a leaked signing key: it leaves the ring at once, and the reserve signs. Pure, like schedule.ts.
import { ALGORITHMS } from '../config/signing-algorithms.ts';
import { canSign, KeyringError, type Moment, ms, type NewKey, type Ring, type RingKey } from './ring.ts';
import { withReserve } from './schedule.ts';

/**
 * Removes `kid` from the ring for good, and starts a new schedule: if no other key may be signing, the reserve that verifiers have
 * known longest signs at once. `newKey` becomes the reserve if none is left. Returns the same ring if the kid is already compromised,
 * gone or unknown.
 */
export function compromise(ring: Ring, kid: string, at: Moment, newKey?: NewKey): Ring {
  const { now } = at;
  const leaked = ring.keys.find((key) => key.kid === kid);
  if (!leaked || leaked.compromisedAt !== undefined) return ring;
  const marked = ring.keys.map((key) =>
    key === leaked ? { ...key, compromisedAt: now, sealed: undefined } : key,
  );
  const left = { ...ring, keys: withSuccessor(marked, at) };
  // An algorithm other than RS256 may have no key left: it starts again, or is being removed.
  const isKept = leaked.alg === ALGORITHMS[0] || (newKey !== undefined && canSign(left, now));
  return isKept ? withReserve(left, now, newKey) : left;
}

function withSuccessor(keys: readonly RingKey[], { now, timing }: Moment): readonly RingKey[] {
  const reach = now + ms(timing.skew);
  // Backdated by the skew, so that every node that reads this ring applies it at once, whatever its clock.
  const at = now - ms(timing.skew);
  const isAhead = (key: RingKey) => key.activateAt === undefined || key.activateAt > reach;
  const live = keys.filter(({ sealed }) => sealed !== undefined);
  // On a node whose clock is ahead, this key already signs.
  const started = live.findLast(
    (key) => !isAhead(key) && (key.retireAt === undefined || key.retireAt > reach),
  );
  const successor = started ?? live.filter(isAhead).toSorted((a, b) => a.publishedAt - b.publishedAt)[0];
  if (!successor && keys.some(({ alg }) => alg !== ALGORITHMS[0])) return keys;
  if (!successor) throw new KeyringError('the ring has no key that could sign now');

  return keys.map((key): RingKey => {
    if (key.compromisedAt !== undefined) return key;
    const unplanned = { ...key, activateAt: undefined, retireAt: undefined, removeAt: undefined };
    if (key === successor)
      return { ...unplanned, activateAt: isAhead(key) ? at : Math.min(key.activateAt ?? at, at) };
    if (isAhead(key)) return unplanned;
    // A node with a slow clock may still sign with the key before the leaked one. removeAt stays, because its tokens are good.
    return { ...key, retireAt: Math.min(key.retireAt ?? at, at) };
  });
}
