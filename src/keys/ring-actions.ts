// What can be done to the stored ring, each as one compare-and-set: the step that is due, a rotation by hand, an emergency,
// an import, a rewrap. For the rotation job and the command line.
import type { Clock } from '../store/store.ts';
import { compromise } from './emergency.ts';
import type { KeyMaterial } from './generate-key.ts';
import { rewrapKey } from './key-set.ts';
import type { KeyStore } from './key-store.ts';
import type { NewKey, Ring } from './ring.ts';
import { importNext, needsKey, nextStep, rotateNow, step } from './schedule.ts';
import type { Vault } from './vault.ts';

/** A ring has few keys with few steps each; more than this at once is a bug, not work. */
const MAX_STEPS = 100;

/**
 * Does everything that is due, one generation for each step. `known`: the ring as it was just loaded, if it was. Resolves with
 * the ring that is then stored.
 */
export async function runDueSteps(keyStore: KeyStore, now: Clock, known?: Ring): Promise<Ring> {
  const { timing } = keyStore;
  const dueStep = (ring: Ring, at: number) => {
    const next = nextStep(ring, at, timing);
    return next !== undefined && next.at <= at ? next : undefined;
  };
  let ring = known ?? (await keyStore.load());
  for (let count = 0; count < MAX_STEPS && dueStep(ring, now()) !== undefined; count += 1) {
    ring = await keyStore.update(async (current) => {
      const at = now();
      const kind = dueStep(current, at)?.kind;
      const isPublishing = kind === 'publish' || kind === 'activate';
      return step(current, at, timing, isPublishing ? await keyFor(keyStore, current) : undefined);
    });
  }
  return ring;
}

/** `keys rotate` by hand: the earliest change that surprises no verifier. */
export function rotateByHand(keyStore: KeyStore, now: Clock): Promise<Ring> {
  return keyStore.update(async (ring) =>
    rotateNow(ring, now(), keyStore.timing, await keyFor(keyStore, ring)),
  );
}

/** `keys compromise`. Throws KeyringError `unknown_kid`. */
export function compromiseKey(keyStore: KeyStore, kid: string, now: Clock): Promise<Ring> {
  return keyStore.update(async (ring) =>
    compromise(ring, kid, now(), keyStore.timing, await keyFor(keyStore, ring)),
  );
}

/** Publishes an existing key as the next one. Throws KeyringError `duplicate_key`. */
export function importNextKey(keyStore: KeyStore, material: KeyMaterial, now: Clock): Promise<Ring> {
  const newKey = keyStore.seal(material);
  return keyStore.update((ring) => importNext(ring, newKey, now(), keyStore.timing));
}

/** Wraps every private part, and the ring's checksum, under the first encryption key. Resolves with how many keys changed. */
export async function rewrapRing(keyStore: KeyStore, vault: Vault): Promise<number> {
  if (!(await keyStore.needsRewrap())) return 0;
  let count = 0;
  await keyStore.update((ring) => {
    const keys = ring.keys.map((key) => rewrapKey(key, vault));
    count = keys.filter((key, index) => key !== ring.keys[index]).length;
    return { ...ring, keys };
  });
  return count;
}

async function keyFor(keyStore: KeyStore, ring: Ring): Promise<NewKey | undefined> {
  return needsKey(ring) ? await keyStore.newKey() : undefined;
}
