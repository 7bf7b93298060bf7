// The keys of one algorithm are a family: each has an active key, a reserve and a timetable of its own, by the same rules. The ring holds
// all families, and what is done to one leaves the others as they are.
import { type Algorithm, ALGORITHMS } from '../config/signing-algorithms.ts';
import {
  assertNew,
  canSign,
  KeyringError,
  ms,
  type NewKey,
  reserveKeys,
  type Ring,
  stateOf,
} from './ring.ts';
import { bury, type DueStep, plannedSteps, takeStep, verifiesUntil } from './schedule.ts';
import type { Timing } from '../config/key-times.ts';

/** The ring as its rules see it (ring.ts, schedule.ts, emergency.ts). */
export const familyOf = (ring: Ring, alg: Algorithm): Ring => ({
  ...ring,
  keys: ring.keys.filter((key) => key.alg === alg),
});

/** Families that have keys. */
export const familiesIn = (ring: Ring): readonly Algorithm[] =>
  ALGORITHMS.filter((alg) => ring.keys.some((key) => key.alg === alg));

/** The same ring where `change` resolves the same family. */
export function changeFamily(ring: Ring, alg: Algorithm, change: (family: Ring) => Ring): Ring {
  const family = familyOf(ring, alg);
  const changed = change(family);
  if (changed === family) return ring;
  const keys = [...ring.keys.filter((key) => key.alg !== alg), ...changed.keys];
  const order = keys.toSorted((a, b) => ALGORITHMS.indexOf(a.alg) - ALGORITHMS.indexOf(b.alg));
  return { ...changed, keys: order };
}

/**
 * `begin`: the algorithm is new, and its first key signs at once, as at a first start. `drop`: the file names the algorithm no more, and its
 * active key would have to be replaced.
 */
type FamilyStep = { readonly alg: Algorithm } & (
  DueStep | { readonly kind: 'begin'; readonly at: number } | { readonly kind: 'drop'; readonly at: number }
);

/** The step of all families that comes first. `wanted`: what the file names. */
export function nextFamilyStep(
  ring: Ring,
  wanted: readonly Algorithm[],
  now: number,
  timing: Timing,
): FamilyStep | undefined {
  const steps = ALGORITHMS.flatMap((alg): FamilyStep[] => {
    const family = familyOf(ring, alg);
    const planned = family.keys.length === 0 ? [] : plannedSteps(family, now, timing);
    if (!wanted.includes(alg)) return planned.flatMap((one) => toDropping(one, alg));
    if (isMissing(ring, alg, now)) return [{ alg, kind: 'begin', at: lastPublished(ring) }];
    return planned.map((one) => ({ alg, ...one }));
  });
  return steps.toSorted((a, b) => a.at - b.at)[0];
}

/** No new key of the family will sign. Its existing keys end at their times. */
function toDropping(one: DueStep, alg: Algorithm): FamilyStep[] {
  if (one.kind === 'publish') return [];
  return [one.kind === 'activate' ? { alg, kind: 'drop', at: one.at } : { alg, ...one }];
}

/** Whether no key signs in this algorithm, or will: a first one has to be made. Of RS256 there always is one. */
const isMissing = (ring: Ring, alg: Algorithm, now: number): boolean =>
  alg !== ALGORITHMS[0] && !canSign(familyOf(ring, alg), now);

const lastPublished = (ring: Ring): number => Math.max(0, ...ring.keys.map((key) => key.publishedAt));

/** The ring after `due`. */
export function takeFamilyStep(
  ring: Ring,
  due: FamilyStep,
  now: number,
  timing: Timing,
  newKey?: NewKey,
): Ring {
  if (due.kind === 'begin') return begin(ring, now, timing, newKey);
  if (due.kind === 'drop') return changeFamily(ring, due.alg, (family) => drop(family, now, timing));
  return changeFamily(ring, due.alg, (family) => takeStep(family, due, now, timing, newKey));
}

/** Verifiers fetch the key set when they meet a kid that they don't know. */
function begin(ring: Ring, now: number, timing: Timing, newKey: NewKey | undefined): Ring {
  if (!newKey) throw new KeyringError('the ring needs a new key to publish');
  assertNew(ring, newKey);
  const key = { ...newKey, publishedAt: now, activateAt: now - ms(timing.skew) };
  return changeFamily(ring, newKey.alg, (family) => ({ ...family, keys: [...family.keys, key] }));
}

/** No new key of the family will sign. Keys that signed still verify; others are removed. */
export function drop(family: Ring, now: number, timing: Timing): Ring {
  const left = reserveKeys(family).reduce((ring, { kid }) => bury(ring, kid, now), family);
  // Dated back by the skew: it signs by no node's clock once its ring is read there.
  const end = { retireAt: now - ms(timing.skew), removeAt: verifiesUntil(now, timing) };
  const keys = left.keys.map((key) =>
    stateOf(key, now) === 'active' && key.retireAt === undefined ? { ...key, ...end } : key,
  );
  return { ...left, keys };
}
