// What each key of a ring is and what becomes of it next, for people: `keys list`. Reads only; a forecast may be moved by a
// rotation by hand or an emergency.
import {
  ms,
  reserveKeys,
  scheduledKeys,
  stateOf,
  type KeyState,
  type Ring,
  type RingKey,
} from './keyring.ts';
import { plannedActivation } from './ring-steps.ts';
import type { Timing } from './timing.ts';

export type KeyOutlook = {
  readonly kid: string;
  readonly state: KeyState;
  /** Epoch milliseconds. Absent: nothing is planned; this key stays what it is. */
  readonly next?: { readonly state: KeyState; readonly at: number } | undefined;
};

/** One entry a key, in the ring's order. `now` in epoch milliseconds. */
export function outlook(ring: Ring, now: number, timing: Timing): readonly KeyOutlook[] {
  const appointed = scheduledKeys(ring, now).at(-1)?.activateAt;
  // With an appointment made, the reserve's turn comes a whole period after it.
  const changeAt =
    appointed === undefined ? plannedActivation(ring, now, timing) : appointed + ms(timing.rotateEvery);
  const heir = reserveKeys(ring)[0];
  return ring.keys.map((key) => {
    const state = stateOf(key, now);
    return { kid: key.kid, state, next: nextOf(key, state, key === heir, changeAt) };
  });
}

function nextOf(key: RingKey, state: KeyState, isHeir: boolean, changeAt?: number): KeyOutlook['next'] {
  if (state === 'published') return toNext('active', key.activateAt ?? (isHeir ? changeAt : undefined));
  if (state === 'active') return toNext('retired', key.retireAt ?? changeAt);
  if (state === 'retired') return toNext('removed', key.removeAt);
  return undefined;
}

function toNext(state: KeyState, at: number | undefined): KeyOutlook['next'] {
  return at === undefined ? undefined : { state, at };
}
