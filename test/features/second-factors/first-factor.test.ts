// The first factor of a user, over HTTP: by an administrator's link, by an invitation, or within a sign-in where the file allows that.
import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { fieldOf, type Page } from '../../world/browser.ts';
import { standingClock } from '../../world/clock.ts';
import { eachStore, useWorld } from '../../world/each-store.ts';
import { begin, codeOf, finishPages, newBrowser, sessionOf, signInAs, silently } from '../../world/person.ts';
import {
  codeFor,
  factorsOf,
  isSecondStep,
  ownFactors,
  setFactors,
  SoftwareKey,
} from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE, worldClients } from '../../world/world.ts';
import { newLink } from '../../world/one-time-link.ts';
const SIGN_IN = { passkeys: true, one_time_codes: true, recovery_codes: 10 };
const OPTIONS = {
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  config: {
    ...GENEROUS,
    sign_in: SIGN_IN,
    clients: worldClients({
      web2: { sign_in: { require: 'second_factor' } },
      'first-party': { sign_in: { require: 'passkey' } },
    }),
  },
};

standingClock();

const urlOf = ({ issuer }: OpenWorld, token: string) => oneTimeLinkUrl(issuer, token);

const appIn = (page: Page, code = codeFor(page)) => ({ code, sealed: fieldOf(page, 'sealed') });
const keyIn = (world: OpenWorld, page: Page, key: SoftwareKey, changes = {}) => ({
  response: key.create(world, page, changes),
  handle: fieldOf(page, 'handle'),
});
const isDone = (page: Page) => page.url.endsWith('/interaction/done/factors') && page.status === 200;

eachStore('a link for the first factor', OPTIONS, (place) => {
  it('MF-41: opened by scanners as often as they like, it adds one factor, once', async () => {
    await setFactors(place(), 'alice');
    const token = await newLink(place(), 'factors', PEOPLE.alice);
    for (let round = 0; round < 5; round += 1) {
      for (const method of ['GET', 'HEAD']) {
        const opened = await fetch(urlOf(place(), token).replace(place().issuer, place().base), { method });
        expect(opened.status).toBe(200);
        expect(opened.headers.get('referrer-policy')).toBe('same-origin');
        expect(opened.headers.get('cache-control')).toBe('no-store');
      }
    }
    const browser = newBrowser(place());
    const page = await browser.open(urlOf(place(), token));
    expect((await browser.submit(page, token, appIn(page, '000000'))).status).toBe(422);
    const refused = { outcome: 'failure', action: 'added', method: 'one_time_code', reason: 'wrong_code' };
    expect(place().recorded.audit('factor_changed').at(-1)).toMatchObject(refused);
    const fields = { csrf: fieldOf(page, 'csrf'), ...appIn(page) };
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () => newBrowser(place()).post(urlOf(place(), token), fields)),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([303, 410, 410, 410]);
    for (const { headers } of answers) expect(headers.get('location') ?? '').not.toContain(token);
    expect(sessionOf(browser)).toBeUndefined();
    expect((await browser.open(urlOf(place(), token))).status).toBe(410);
    const { page: login } = await begin(place(), {}, { browser });
    expect(isSecondStep(await signInAs(browser, login, 'alice'))).toBe(true);
  });

  it('F1-17: that was never used stays dead after a factor was added in another way and removed', async () => {
    await setFactors(place(), 'alice');
    const token = await newLink(place(), 'factors', PEOPLE.alice);
    const page = await newBrowser(place()).open(urlOf(place(), token));
    // The state after an enrolment and a removal.
    await setFactors(place(), 'alice', { sessionsSince: 2 });
    expect((await newBrowser(place()).open(urlOf(place(), token))).status).toBe(410);
    expect((await newBrowser(place()).submit(page, token, appIn(page))).status).toBe(410);
    expect((await ownFactors(place())).oneTimeCode).toBeUndefined();
    const fresh = await newLink(place(), 'factors', PEOPLE.alice);
    expect((await newBrowser(place()).open(urlOf(place(), fresh))).status).toBe(200);
  });
});

describe('an invitation', () => {
  const place = useWorld(OPTIONS);

  async function invite(world: OpenWorld) {
    const id = `usr_${randomBytes(12).toString('hex')}`;
    const username = `guest-${id.slice(-6)}`;
    await createStoredUsers(world.openedStore).add({
      id,
      username,
      passwordHash: undefined,
      claims: {},
    });
    return { id, username, token: await newLink(world, 'invite', id) };
  }

  it('by a passkey makes no password, and signs in by it; not by one that doesn’t verify its user', async () => {
    const { id, token } = await invite(place());
    const browser = newBrowser(place());
    const page = await browser.open(urlOf(place(), token));
    const weak = new SoftwareKey({ verifiesUser: false });
    expect((await browser.submit(page, token, keyIn(place(), page, weak))).status).toBe(422);
    const key = new SoftwareKey();
    const done = await browser.submit(page, token, keyIn(place(), page, key));
    expect([done.status, done.url]).toEqual([200, 'https://id.example/interaction/done/invite']);
    expect(await silently(place(), browser)).toBe('login_required');
    const { page: login } = await begin(place(), {}, { browser });
    const userHandle = fieldOf(page, 'handle');
    const signedIn = await browser.submit(login, '/passkey', {
      response: key.assert(place(), login, { userHandle }),
    });
    const afterNotice = signedIn.text.includes('/notice"')
      ? await browser.submit(signedIn, '/notice')
      : signedIn;
    expect(codeOf(await finishPages(browser, afterNotice, 'alice')), afterNotice.text).toBeDefined();
    expect((await (await factorsOf(place())).get(id)).passkeys).toHaveLength(1);
  });

  it('F1-06: makes no password after a passkey, also where its use could not be written', async () => {
    const { token } = await invite(place());
    const page = await newBrowser(place()).open(urlOf(place(), token));
    const consume = vi
      .spyOn(place().openedStore.records, 'consume')
      .mockRejectedValue(new StoreUnavailable());
    const done = await newBrowser(place()).submit(page, token, keyIn(place(), page, new SoftwareKey()));
    expect([done.status, consume.mock.calls.length], done.text).toEqual([200, 1]);
    consume.mockRestore();
    const password = 'river otter jazz 47';
    expect((await newBrowser(place()).submit(page, token, { password, again: password })).status).toBe(410);
  });

  it('by a password leads on to a second factor', async () => {
    const { token } = await invite(place());
    const browser = newBrowser(place());
    const page = await browser.open(urlOf(place(), token));
    const password = 'river otter jazz 47';
    const next = await browser.submit(page, token, { password, again: password });
    const [, nextToken = ''] = /\/link\/([\w-]{43})$/.exec(next.url) ?? [];
    expect([next.status, nextToken === token, nextToken.length]).toEqual([200, false, 43]);
    expect(isDone(await browser.submit(next, nextToken, appIn(next)))).toBe(true);
  });
});
