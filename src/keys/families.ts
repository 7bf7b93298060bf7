// The keys of one algorithm are a family. Each family has its own active key, reserve and schedule, by the same rules. The ring has
// all families, and a change of one leaves the others as they are.
import { type Algorithm, ALGORITHMS } from '../config/signing-algorithms.ts';
import { canSign, type Moment, ms, reserveKeys, type Ring, stateOf } from './ring.ts';
import { bury, plannedSteps, publishActive, type Step, verifiesUntil } from './schedule.ts';

/** The ring with one family only, as the rules need it (ring.ts, schedule.ts, emergency.ts). */
export const familyOf = (ring: Ring, alg: Algorithm): Ring => ({
  ...ring,
  keys: ring.keys.filter((key) => key.alg === alg),
});

export const familiesIn = (ring: Ring): readonly Algorithm[] =>
  ALGORITHMS.filter((alg) => ring.keys.some((key) => key.alg === alg));

/** Returns the same ring if `change` returns the same family. */
export function changeFamily(ring: Ring, alg: Algorithm, change: (family: Ring) => Ring): Ring {
  const family = familyOf(ring, alg);
  const changed = change(family);
  if (changed === family) return ring;
  const keys = [...ring.keys.filter((key) => key.alg !== alg), ...changed.keys];
  const order = keys.toSorted((a, b) => ALGORITHMS.indexOf(a.alg) - ALGORITHMS.indexOf(b.alg));
  return { ...changed, keys: order };
}

type FamilyStep = Step & { readonly alg: Algorithm };

/** The earliest step of all families. `wanted`: the algorithms of the file. */
export function nextFamilyStep(ring: Ring, wanted: readonly Algorithm[], at: Moment): FamilyStep | undefined {
  function stepsOf(alg: Algorithm): readonly Step[] {
    const family = familyOf(ring, alg);
    const isWanted = wanted.includes(alg);
    // No key of this algorithm signs, or will: its first key signs at once, as at a first start. RS256 always has one.
    if (isWanted && alg !== ALGORITHMS[0] && !canSign(family, at.now)) {
      const due = Math.max(0, ...ring.keys.map((key) => key.publishedAt));
      return [{ kind: 'begin', at: due, needsKey: true, take: (key) => publishActive(family, at, key) }];
    }
    const planned = family.keys.length === 0 ? [] : plannedSteps(family, at);
    if (isWanted) return planned;
    // No new key of the family will sign. Its existing keys end as scheduled.
    return planned.flatMap((step): readonly Step[] => {
      if (step.kind === 'publish') return [];
      if (step.kind !== 'activate') return [step];
      return [{ kind: 'drop', at: step.at, take: () => drop(family, at) }];
    });
  }

  const steps = ALGORITHMS.flatMap((alg) =>
    stepsOf(alg).map((step): FamilyStep => {
      const take: Step['take'] = (newKey) => changeFamily(ring, alg, () => step.take(newKey));
      return { ...step, alg, take };
    }),
  );
  return steps.toSorted((a, b) => a.at - b.at)[0];
}

/** Ends a family: no new key of it will sign. Keys that signed still verify; others are removed. */
export function drop(family: Ring, { now, timing }: Moment): Ring {
  const left = reserveKeys(family).reduce((ring, { kid }) => bury(ring, kid, now), family);
  // Backdated by the skew, so that no node signs with it after reading the ring, whatever its clock.
  const end = { retireAt: now - ms(timing.skew), removeAt: verifiesUntil(now, timing) };
  const keys = left.keys.map((key) =>
    stateOf(key, now) === 'active' && key.retireAt === undefined ? { ...key, ...end } : key,
  );
  return { ...left, keys };
}
