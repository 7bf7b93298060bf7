// What a user is asked to allow, in which words, and for how long it is remembered.
import { describe, expect, it } from 'vitest';
import type { NewRecord } from '../../src/store/store.ts';
import { exchange, signIn, takeCode } from '../world/app.ts';
import type { Page } from '../world/browser.ts';
import {
  begin,
  complete,
  enterPassword,
  newBrowser,
  signInAs,
  signOut,
  silently,
  titleOf,
} from '../world/person.ts';
import { introspect, revoke } from '../world/presented-tokens.ts';
import { changeAccount } from '../world/store-access.ts';
import { refresh } from '../world/token-endpoint.ts';
import { API, GENEROUS, PEOPLE, worldClients, type WorldOptions } from '../world/world.ts';
import { DAY, moveClock, standingClock } from '../world/clock.ts';
import { anyStore, eachStore, useWorld } from '../world/each-store.ts';

const REMEMBERED = { ...GENEROUS, lifetimes: { consent: '180d' } };
const ASKS = 'Web app wants access to your account';
const BARE = 'https://mail.example/api';

describe('the words of a consent', () => {
  const world = useWorld({
    config: {
      ...GENEROUS,
      resources: [
        {
          resource: API,
          name: 'Reports',
          scopes: ['reports.read', 'reports.write'],
          scope_descriptions: { 'reports.read': 'Read your reports' },
        },
        { resource: 'https://other.example/api', scopes: ['other.read'] },
        { resource: BARE, name: 'Mail', clients: ['web', 'first-party'] },
      ],
    },
  });
  const wordsOf = ({ text }: Page) => [...text.matchAll(/<li>([^<]+)<\/li>/g)].map(([, words]) => words);

  it.each([
    ['by its scope', {}],
    ['by resource', { resource: API }],
  ])('name the API that a token is for, %s, even if allowed before', async (_how, named) => {
    const first = { scope: 'openid reports.read', ...named };
    const { browser } = await complete(world(), 'alice', first);
    const { page } = await begin(world(), { ...named, scope: 'openid email reports.read' }, { browser });
    expect(page.text).toContain('<h2 id="api-0"><bdi>Reports</bdi></h2>');
    expect(wordsOf(page)).toEqual(['See your email address', 'Read your reports']);
  });

  it('ask about an API without scopes, by its name, once', async () => {
    const { browser } = await complete(world(), 'alice', { scope: 'openid' });
    const request = { scope: 'openid', resource: BARE };
    expect(await silently(world(), browser, request)).toBe('consent_required');
    const { page } = await begin(world(), request, { browser });
    expect(page.text).toContain('<h2 id="api-0"><bdi>Mail</bdi></h2>');
    expect(wordsOf(page)).toEqual(['Act on your behalf']);
    expect((await browser.submit(page, '/consent')).url).toContain('code=');
    expect(await silently(world(), browser, request)).toBe('signed in');
    const implicit = { client_id: 'first-party', redirect_uri: 'https://own.example/cb' };
    expect(await silently(world(), browser, { ...implicit, ...request })).toBe('signed in');
  });

  it('are plain, for our scopes and for those of an API, with the account and the app', async () => {
    const { page: consent } = await enterPassword(world(), { scope: 'openid email reports.read' });
    expect(titleOf(consent)).toBe(ASKS);
    expect(consent.text).toContain('You’re signed in as <strong><bdi>alice</bdi></strong>.');
    const items = [...consent.text.matchAll(/<li>([^<]+)<\/li>/g)].map(([, words]) => words);
    expect(items).toEqual(['Confirm your identity', 'See your email address', 'Read your reports']);
    expect(consent.text).toContain('<h2 id="api-0"><bdi>Reports</bdi></h2>');
  });

  it('name everything once more when an app asks again for what it has', async () => {
    const again = { scope: 'openid email offline_access', prompt: 'consent' };
    const { browser } = await complete(world(), 'alice', again);
    const own = {
      ...again,
      client_id: 'first-party',
      redirect_uri: 'https://own.example/cb',
      scope: 'openid email',
    };
    const WORDS = ['Confirm your identity', 'See your email address'];
    const lasting = [...WORDS, 'Stay connected when you’re not using it'];
    expect(wordsOf((await begin(world(), again, { browser })).page)).toEqual(lasting);
    expect(wordsOf((await begin(world(), own, { browser })).page)).toEqual(WORDS);
  });
});

const ASKED = {
  config: {
    ...REMEMBERED,
    resources: [
      { resource: API, scopes: ['reports.read', 'reports.write'] },
      { resource: BARE, clients: ['web'] },
    ],
    clients: worldClients().filter(({ client_id: id }) => id !== 'svc'),
  },
};

anyStore('a consent', ASKED, (world) => {
  it('is remembered in another browser, for that user, that app and those scopes alone', async () => {
    await complete(world());
    expect((await enterPassword(world())).page.url).toContain('code=');

    const asked = (await enterPassword(world(), { scope: 'openid email profile reports.read' })).page;
    expect(titleOf(asked)).toBe(ASKS);
    expect(asked.text).not.toContain('See your email address');

    expect(titleOf((await enterPassword(world(), {}, { person: 'bob' })).page)).toBe(ASKS);

    expect(
      titleOf(
        (await enterPassword(world(), { client_id: 'web2', redirect_uri: 'https://app2.example/cb' })).page,
      ),
    ).toBe(ASKS);
  });

  it('grows by what is allowed later, also in a browser that is signed in', async () => {
    const { browser } = await complete(world(), 'alice', { scope: 'openid' });
    await complete(world(), 'alice', { scope: 'openid email profile' });
    expect(await silently(world(), browser, { scope: 'openid profile' })).toBe('signed in');
  });

  it('of an API without scopes is remembered in another browser', async () => {
    const request = { scope: 'openid', resource: BARE };
    await complete(world(), 'bob', request);
    expect((await enterPassword(world(), request, { person: 'bob' })).page.url).toContain('code=');
  });

  it('survives signing out', async () => {
    const { browser } = await complete(world());
    await signOut(world(), browser);
    const { page } = await begin(world(), {}, { browser });
    expect((await signInAs(browser, page, 'alice')).url).toContain('code=');
  });

  it('is withdrawn by revoking a token of the app, and not by the revocation of another app', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid email' });
    const token = tokens.access_token;
    const foreign = await revoke(world(), token, 'web2');
    expect(foreign.status).toBe(400);
    expect(await introspect(world(), token, 'web')).toMatchObject({ active: true });
    expect((await enterPassword(world(), { scope: 'openid email' })).page.url).toContain('code=');

    await revoke(world(), token);
    expect(titleOf((await enterPassword(world(), { scope: 'openid email' })).page)).toBe(ASKS);
  });
});

describe('the memory of a consent', () => {
  standingClock();
  const world = useWorld({ config: { ...GENEROUS, lifetimes: { consent: '10d' } } });

  it('RT-10: is not begun by a page of a sign-in that has ended', async () => {
    const { browser, page } = await begin(world(), {}, { browser: newBrowser(world()) });
    const asked = await signInAs(browser, page, 'bob');
    expect(titleOf(asked)).toBe(ASKS);
    await changeAccount(world(), PEOPLE.bob, { validAfter: Math.floor(Date.now() / 1000) + 1 });
    moveClock(10);
    await browser.submit(asked, '/consent');
    expect(titleOf((await enterPassword(world(), {}, { person: 'bob' })).page)).toBe(ASKS);
  });

  it('RT-10: brings back nothing that ended before when more is allowed', async () => {
    await complete(world(), 'bob', { scope: 'openid email' });
    await changeAccount(world(), PEOPLE.bob, { validAfter: Math.floor(Date.now() / 1000) + 1 });
    moveClock(10);
    await complete(world(), 'bob', { scope: 'openid' });
    expect(titleOf((await enterPassword(world(), { scope: 'openid email' }, { person: 'bob' })).page)).toBe(
      ASKS,
    );
  });

  it('ends after its time', async () => {
    await complete(world());
    moveClock(10 * DAY - 5);
    expect((await enterPassword(world())).page.url).toContain('code=');
    moveClock(10);
    expect(titleOf((await enterPassword(world())).page)).toBe(ASKS);
  });

  it('is none with 0s', async () => {
    const { startWorld } = await import('../world/world.ts');
    const forgetful = await startWorld({ config: { ...GENEROUS, lifetimes: { consent: '0s' } } });
    try {
      await complete(forgetful);
      const { browser, page } = await begin(forgetful, {}, { browser: newBrowser(forgetful) });
      expect(titleOf(await signInAs(browser, page, 'alice'))).toBe(ASKS);
    } finally {
      await forgetful.stop();
    }
  });
});

let isEarlier = false;
const asMade = (record: NewRecord) =>
  isEarlier ? { ...record, payload: record.payload.replace(/,"consent":"\w+"/, '') } : record;
const OWN = { ...GENEROUS, clients: worldClients({ web: { consent: 'implicit' } }) };

const EARLIER = {
  config: OWN,
  // Grants of an earlier version don't record who allowed them.
  handStore: (store) => {
    const { exchange: _none, ...records } = store.records;
    return { ...store, records: { ...records, save: (record) => records.save(asMade(record)) } };
  },
} satisfies WorldOptions;

eachStore('a client that loses consent: implicit', EARLIER, (world) => {
  const byFile = { parameters: { prompt: 'login' } };
  const works = async ({ tokens }: Awaited<ReturnType<typeof signIn>>, caller: 'web' | 'web2' = 'web') => {
    const { active } = await introspect(world(), tokens.access_token, caller);
    return [active, (await refresh(world(), tokens.refresh_token, {}, caller)).status];
  };

  it('F1-21: loses what the file allowed it, for good, and no more than that', async () => {
    const own = await signIn(world(), byFile);
    isEarlier = true;
    const [unnamed, other] = [await signIn(world(), byFile), await signIn(world(), { client: 'web2' })];
    isEarlier = false;
    const code = await takeCode(world(), byFile);
    const asked = await signIn(world(), { person: 'bob', scope: 'openid offline_access' });
    const { browser } = asked;
    const wider = await signIn(world(), { ...byFile, browser, person: 'bob', scope: 'openid profile' });

    await world().reload({ ...OWN, clients: worldClients() });
    for (const one of [own, unnamed]) expect(await works(one)).toEqual([false, 400]);
    expect(await works(other, 'web2')).toEqual([true, 200]);
    await expect(exchange(code)).rejects.toThrow();
    expect(await introspect(world(), wider.tokens.access_token, 'web')).toEqual({ active: false });
    expect(await works(asked)).toEqual([true, 200]);
    expect(await silently(world(), own.browser)).toBe('consent_required');

    await world().reload(OWN);
    expect(await works(own)).toEqual([false, 400]);
  });
});
