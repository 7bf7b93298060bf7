import { describe, expect, it } from 'vitest';
import { reserveKeys, type Ring } from '../../../src/keys/ring.ts';
import { rotateByHand } from '../../../src/keys/ring-actions.ts';
import { KeyStoreError } from '../../../src/keys/vault.ts';
import { createWorld, type World } from './keys.fixture.ts';

async function failure(promise: Promise<unknown>): Promise<KeyStoreError> {
  const error: unknown = await promise.then(
    () => new Error('it went well'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof KeyStoreError) return error;
  throw error;
}

function stored({ documents }: World): { value: string; version: number } {
  const document = documents.peek('keys', 'ring');
  if (document === undefined) throw new Error('nothing is stored');
  return document;
}

/** A ring that only a holder of the encryption key could write. */
function withSwappedPrivateParts(ring: Ring): Ring {
  const [a, b] = ring.keys;
  if (a === undefined || b === undefined) throw new Error('too few keys');
  return {
    ...ring,
    keys: [
      { ...a, sealed: b.sealed },
      { ...b, sealed: a.sealed },
    ],
  };
}

it('keys rotate appoints a change on its first call, also of a family that has no reserve yet', async () => {
  const world = createWorld();
  const keyStore = world.process();
  await keyStore.ensure();
  await keyStore.update((ring) => ({
    ...ring,
    keys: ring.keys.filter(({ activateAt }) => activateAt !== undefined),
  }));
  const { keys } = await rotateByHand(keyStore);
  expect(keys.filter(({ activateAt = 0 }) => activateAt > world.clock.now)).toHaveLength(1);
});

describe("a start on keys that can't be used", () => {
  it.each([
    ['an empty text', ''],
    ['JSON of something else', '[]'],
    ['an empty object', '{}'],
    ['half a ring', '{"v":1,"body":"{}"}'],
    ['a null', 'null'],
  ])('KY-09: refuses %s where the ring should be, and makes no new one', async (_name, value) => {
    const world = createWorld();
    world.documents.force('keys', 'ring', value, 3);
    expect((await failure(world.process().ensure())).code).toBe('tampered');
    expect(stored(world)).toMatchObject({ value, version: 3 });
  });

  it.each([
    ['without keys', () => []],
    ['in which no key can sign', reserveKeys],
  ])('KY-09: refuses a ring %s', async (_which, keysOf) => {
    const world = createWorld();
    await world.process().ensure();
    await world.process().update((ring) => ({ ...ring, keys: keysOf(ring) }));
    expect((await failure(world.process().ensure())).code).toBe('empty');
  });

  it('refuses a ring of a newer version of this service', async () => {
    const world = createWorld();
    world.documents.force('keys', 'ring', '{"v":3}', 1);
    expect((await failure(world.process().ensure())).code).toBe('unsupported');
  });
});

it('KY-16: a ring that somebody altered is refused when the private parts of two kids are swapped under a good checksum', async () => {
  const world = createWorld();
  const ring = await world.process().ensure();
  await world.process().update(withSwappedPrivateParts);
  const error = await failure(world.process().ensure());
  expect(error.code).toBe('tampered');
  expect(error.message).toContain(`the private part of key ${ring.keys[0]?.kid} was altered`);
  expect(error.message).toContain(world.vault.kekId);
});

it('KY-16: an older ring with its own version, as a backup of the whole store brings it back is refused by a process that knows the newer one', async () => {
  const world = createWorld();
  const keyStore = world.process();
  await keyStore.ensure();
  const backup = stored(world);
  await rotateByHand(keyStore);
  world.documents.force('keys', 'ring', backup.value, backup.version);
  expect((await failure(keyStore.load())).code).toBe('rolled_back');
  expect((await failure(rotateByHand(keyStore))).code).toBe('rolled_back');
});
