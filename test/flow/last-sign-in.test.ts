// The time of a user's last sign-in: written at a sign-in, and at most once an hour. Each row continues from the previous one.
import { describe, expect, it } from 'vitest';
import { createAccountStates } from '../../src/users/account-state.ts';
import { authorize, type Authorized } from '../world/app.ts';
import { DAY, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';
import { silently, tryPassword } from '../world/person.ts';
import { PEOPLE } from '../world/world.ts';

describe('the last sign-in', () => {
  standingClock();
  const world = useWorld();
  let app: Authorized | undefined;
  const signInAnew = async () => (app = await authorize(world()));
  const inSession = async () => app && expect(await silently(world(), app.browser)).toBe('signed in');

  it.each([
    ['a wrong password', 0, () => tryPassword(world(), 'alice', 'wrong'), 'none'],
    ['a sign-in', 0, signInAnew, 'now'],
    ['a sign-in 59 minutes later', 59 * MINUTE, signInAnew, 'as before'],
    ['an app in the session, an hour later', 2 * MINUTE, inSession, 'as before'],
    ['a sign-in after an hour', 0, signInAnew, 'now'],
    ['a sign-in a day later', DAY, signInAnew, 'now'],
  ] as const)('after %s', async (_, later, act, expected) => {
    const states = createAccountStates(world().openedStore.documents);
    const { lastSignIn: before } = await states.get(PEOPLE.alice);
    moveClock(later);
    await act();
    const now = Math.floor(Date.now() / 1000);
    const { lastSignIn } = await states.get(PEOPLE.alice);
    expect(lastSignIn).toBe({ none: undefined, now, 'as before': before }[expected]);
  });
});
