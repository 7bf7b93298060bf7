// The changes of the stored ring, each as one compare-and-set: the step that is due, a manual rotation, an emergency, a rewrap. For
// the rotation job and the command line.
import { compromise } from './emergency.ts';
import { changeFamily, drop, familiesIn, familyOf, nextFamilyStep } from './families.ts';
import { rewrapKey } from './key-set.ts';
import type { KeyStore } from './key-store.ts';
import { canSign, reserveKeys, type Ring, scheduledKeys } from './ring.ts';
import { appoint, withReserve } from './schedule.ts';
import type { Vault } from './vault.ts';

/** A ring has few keys with few steps each, so more steps at once would be a bug. */
const MAX_STEPS = 100;

/**
 * Takes all steps that are due, one generation for each. `known`: the ring, if it was just loaded. Resolves the ring that is then
 * stored.
 */
export async function runDueSteps(
  keyStore: KeyStore,
  known?: Ring,
  algorithms = keyStore.algorithms,
): Promise<Ring> {
  const dueStep = (ring: Ring) => {
    const at = keyStore.moment;
    const next = nextFamilyStep(ring, algorithms, at);
    return next !== undefined && next.at <= at.now ? next : undefined;
  };
  let ring = known ?? (await keyStore.load());
  for (let count = 0; count < MAX_STEPS && dueStep(ring) !== undefined; count += 1) {
    ring = await keyStore.update(async (current) => {
      const due = dueStep(current);
      if (due === undefined) return current;
      return due.take(due.needsKey ? await keyStore.newKey(due.alg) : undefined);
    });
  }
  return ring;
}

/** `keys rotate`: the earliest change of each family that all verifiers will know. Families that aren't configured end. */
export function rotateByHand(keyStore: KeyStore): Promise<Ring> {
  return keyStore.update(async (ring) => {
    let rotated = ring;
    const { now } = keyStore;
    for (const alg of familiesIn(ring)) {
      const family = familyOf(ring, alg);
      if (scheduledKeys(family, now()).length > 0) continue;
      if (!keyStore.algorithms.includes(alg)) {
        if (canSign(family, now()))
          rotated = changeFamily(rotated, alg, (keys) => drop(keys, keyStore.moment));
        continue;
      }
      // A new family may have no reserve yet.
      const reserve = reserveKeys(family).length === 0 ? await keyStore.newKey(alg) : undefined;
      const newKey = await keyStore.newKey(alg);
      const at = keyStore.moment;
      rotated = changeFamily(rotated, alg, (keys) =>
        appoint(withReserve(keys, at.now, reserve), at.now, at, newKey),
      );
    }
    return rotated;
  });
}

/** `keys compromise`. Throws for an unknown kid. */
export function compromiseKey(keyStore: KeyStore, kid: string): Promise<Ring> {
  return keyStore.update(async (ring) => {
    // A removed or unknown key passes the same checks.
    const alg = ring.keys.find((key) => key.kid === kid)?.alg ?? 'RS256';
    const newKey = keyStore.algorithms.includes(alg) ? await keyStore.newKey(alg) : undefined;
    return changeFamily(ring, alg, (family) => compromise(family, kid, keyStore.moment, newKey));
  });
}

/** Seals every private part, and computes the ring's checksum, with the first encryption key. */
export async function rewrapRing(keyStore: KeyStore, vault: Vault): Promise<void> {
  await keyStore.update((ring) => ({ ...ring, keys: ring.keys.map((key) => rewrapKey(key, vault)) }));
}
