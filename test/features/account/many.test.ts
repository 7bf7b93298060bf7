// The account page of a user with far more of everything than usual.
import { describe, expect, it } from 'vitest';
import { createUserIndex } from '../../../src/users/user-index.ts';
import { idsOf, isAccountPage, openAccount } from '../../world/account-page.ts';
import { standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { complete, newBrowser, silently } from '../../world/person.ts';
import { rounds } from '../../world/rounds.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE, worldClients } from '../../world/world.ts';

const APPS = rounds(500, 50);
/** The most that a user may have. */
const MOST = 100;

const apps = Array.from({ length: APPS }, (_, index) => ({
  ...worldClients().find(({ client_id: id }) => id === 'first-party'),
  client_id: `app-${index}`,
  client_name: `App ${index}`,
  client_uri: `https://app-${index}.example/`,
}));

standingClock();

type Lists = Readonly<Record<'sessions' | 'events' | 'grants', readonly unknown[]>>;

async function listsOf({ openedStore }: OpenWorld, collection: string) {
  const documents = await openedStore.documents.list(collection);
  return documents.map(({ value }) => JSON.parse(value) as Lists);
}

describe('of one user', () => {
  const world = useWorld({
    rotationTimer: NEVER,
    config: { ...GENEROUS, account: true, clients: [...worldClients(), ...apps] },
  });

  it('F1-24: sessions are no more than a hundred: the oldest end, with a record, and the page ends the rest', async () => {
    const asked = { client_id: 'first-party' };
    const { browser: oldest } = await complete(world(), 'alice', asked);
    const { browser: kept } = await complete(world(), 'bob', asked);
    for (let turn = 0; turn < MOST / 4; turn += 1) {
      await Promise.all([1, 2, 3, 4].map(() => complete(world(), 'alice', asked)));
    }
    const [alices, ...others] = await listsOf(world(), 'person-sessions');
    expect([alices?.sessions.length, alices?.events.length, others.length]).toEqual([MOST, 10, 1]);
    expect(await silently(world(), oldest, asked)).toBe('login_required');
    const ended = { account_id: PEOPLE.alice, outcome: 'success', reason: 'too_many_sessions' };
    expect(world().recorded.audit('sign_out')).toMatchObject([ended]);
    expect(await silently(world(), kept, asked)).toBe('signed in');

    const browser = newBrowser(world());
    const page = await openAccount(world(), browser, { username: 'alice' });
    expect(idsOf(page, '/end-session')).toHaveLength(MOST - 1);
    const after = await browser.submit(page, '/end-others');
    expect([isAccountPage(after), idsOf(after, '/end-session')]).toEqual([true, []]);
    expect(await silently(world(), kept, asked)).toBe('signed in');
  });

  it('F1-12: sign-ins push no other event out, also of those that an earlier version listed', async () => {
    const { documents } = world().openedStore;
    let now = 100;
    const index = createUserIndex(documents, () => (now += 1));
    const signIn = (count: number) => index.addSession('listed', { uid: `session ${count}`, ends: 1e9 });
    const earlier = [
      { what: 'factor_added', at: 1 },
      ...Array.from({ length: 9 }, () => ({ what: 'signed_in', at: 2 })),
    ];
    await documents.put('person-sessions', 'listed', JSON.stringify({ v: 1, events: earlier }), 0);
    for (let turn = 0; turn < 40; turn += 1) {
      await signIn(turn);
      if (turn < 29) await index.addEvent('listed', { what: 'codes_failed' });
    }
    const events = await index.eventsOf('listed');
    const whats = events.map(({ what }) => what);
    expect([whats.length, whats[0], whats.filter((what) => what === 'signed_in').length]).toEqual([
      40,
      'factor_added',
      10,
    ]);
    await index.addEvent('listed', { what: 'session_ended' });
    expect((await index.eventsOf('listed')).map(({ what }) => what)).toEqual([
      ...whats.slice(1),
      'session_ended',
    ]);
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((a, b) => a - b));
  });
});
