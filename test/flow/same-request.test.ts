// On lmdb the engine answers the form of a password, a consent or a refusal: the form and all its results are saved in one
// transaction. On Redis, and where something else must be stored first, the browser is redirected to the engine.
import { afterEach, expect, it } from 'vitest';
import { signIn } from '../world/app.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import type { Page } from '../world/browser.ts';
import { useWorld } from '../world/each-store.ts';
import { begin, redirectOf, silently } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import { watchSaving } from '../world/saving.ts';
import { CALLBACK, GENEROUS, PASSWORDS } from '../world/world.ts';
import { StoreUnavailable } from '../../src/store/store.ts';

const saving = watchSaving();
const world = useWorld({ handStore: saving.handStore, config: GENEROUS });
afterEach(() => saving.set(undefined));

const ALICE = { username: 'alice', password: PASSWORDS.alice };
const BOB = { username: 'bob', password: PASSWORDS.bob };

it('the answer to a form leads to the app, or to the next page', async () => {
  const own = await begin(world(), { client_id: 'first-party' });
  expect(redirectOf(await own.browser.send(own.page, '/login', ALICE)).query).toHaveProperty('code');

  const { browser, page } = await begin(world());
  const signedIn = await browser.send(page, '/login', ALICE);
  const next = signedIn.headers.get('location') ?? '';
  expect(next).toMatch(/\/interaction\/[\w-]{43}$/);
  expect(next).not.toBe(page.url);
  const consent = await browser.open(next);
  const allowed = redirectOf(await browser.send(consent, '/consent'));
  expect([allowed.target, Object.keys(allowed.query)]).toEqual([CALLBACK, ['code', 'state', 'iss']]);

  const again = await browser.open(authorizationUrl(world(), { prompt: 'consent' }));
  const declined = redirectOf(await browser.send(again, '/cancel'));
  expect([declined.target, declined.query['error']]).toEqual([CALLBACK, 'access_denied']);
});

it('F1-06: a form whose answer could not be saved is answered 503, and works when it is sent again', async () => {
  const { browser, page } = await begin(world(), { client_id: 'first-party' });
  const recorded = world().recorded.audit().length;
  saving.set((records) => {
    if (records.some(({ kind }) => kind === 'AuthorizationCode')) throw new StoreUnavailable();
  });
  const refused = await browser.send(page, '/login', ALICE);
  expect([refused.status, refused.headers.get('location')]).toEqual([503, null]);
  expect(refused.headers.getSetCookie().join()).not.toContain('session');
  const events = world().recorded.audit().slice(recorded);
  expect(events.map(({ event, outcome }) => `${event} ${outcome}`)).toEqual(['sign_in failure']);
  saving.set(undefined);
  expect(redirectOf(await browser.send(page, '/login', ALICE)).query).toHaveProperty('code');
});

it('LG-11: of two forms at once, the one that loses signs nobody in, and ends nothing', async () => {
  const { browser, tokens } = await signIn(world(), { scope: 'openid reports.read' });
  const { page } = await begin(world(), { prompt: 'login' }, { browser });
  let cancelled: Page | undefined;
  saving.set(async () => {
    saving.set(undefined);
    // At this point the other form has read everything that it needs.
    cancelled = await browser.send(page, '/cancel');
  });
  const lost = await browser.send(page, '/login', BOB);
  expect(redirectOf(cancelled ?? page).query['error']).toBe('access_denied');
  expect([lost.status, lost.headers.get('location')]).toEqual([400, null]);
  expect(lost.headers.getSetCookie().join()).not.toContain('session');
  expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });
  expect(await silently(world(), browser, { scope: 'openid' })).toBe('signed in');
});
