// Audit records of a rotation: each change of the keys with which this process signs or verifies.
import { decodeProtectedHeader } from 'jose';
import { expect, it } from 'vitest';
import { compromiseKey, rotateByHand } from '../../src/keys/ring-actions.ts';
import { machineToken } from '../world/app.ts';
import { keyStoreOf } from '../world/stored.ts';
import { createTurns } from '../world/turns.ts';
import { HOUR, moveClock, standingClock } from '../world/clock.ts';
import { eachStore } from '../world/each-store.ts';
import { publishedKids } from './nodes.ts';

const turns = createTurns();

eachStore('CF-15: the audit trail of a rotation', { rotationTimer: turns.timer }, (world) => {
  standingClock();
  const kidOf = async () => decodeProtectedHeader(await machineToken(world())).kid ?? '';

  /** The records of `act` and of the next check of the ring. */
  async function recordsOf(act: () => unknown) {
    const before = world().recorded.audit('keys_changed').length;
    await act();
    await turns.turn();
    const records = world().recorded.audit('keys_changed').slice(before);
    return records.map(({ outcome, kid, published }) => ({ outcome, kid, published }));
  }

  it('has a record when a key is published, when it signs, and when one is compromised', async () => {
    const first = await kidOf();
    const [, next = ''] = await publishedKids(world());
    expect(await recordsOf(() => undefined)).toEqual([]);

    const rotate = () => rotateByHand(keyStoreOf(world().openedStore));
    const planned = await recordsOf(rotate);
    const published = await publishedKids(world());
    expect(published).toHaveLength(3);
    expect(planned).toEqual([{ outcome: 'success', kid: first, published }]);

    const switched = await recordsOf(() => moveClock(2 * HOUR));
    expect(await kidOf()).toBe(next);
    expect(switched[0]).toMatchObject({ kid: next });
    expect(switched.at(-1)).toEqual({
      outcome: 'success',
      kid: next,
      published: await publishedKids(world()),
    });

    const keyStore = keyStoreOf(world().openedStore);
    const gone = await recordsOf(() => compromiseKey(keyStore, next));
    const heir = await kidOf();
    expect(heir).not.toBe(next);
    expect(gone.at(-1)).toEqual({
      outcome: 'success',
      kid: heir,
      published: await publishedKids(world()),
    });
  });
});
