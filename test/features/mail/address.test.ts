// A user's change of address, over HTTP and SMTP: confirmed by the new mailbox, undone by the old one.
import { afterAll, describe, expect, it } from 'vitest';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { createMailStates } from '../../../src/features/mail/state.ts';
import { type NewRecord, StoreUnavailable, type Store } from '../../../src/store/store.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { openAccount } from '../../world/account-page.ts';
import { formOf } from '../../world/browser.ts';
import { DAY, moveClock, standingClock, until } from '../../world/clock.ts';
import { eachStore, useWorld } from '../../world/each-store.ts';
import { newBrowser } from '../../world/person.ts';
import type { OpenWorld } from '../../world/world.ts';
import { startMailServer } from './mail-server.ts';
import {
  askFor,
  createAddressUsers,
  retryNow,
  newAddress,
  OLD_PASSWORD,
  openLink,
  postLink,
} from './people.ts';
import { quiet, signInWith, statusOf, untilTried } from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
const config = { mail: server.mail, account: true };
const { linkTo, newUser } = createAddressUsers(server);
const subjectsTo = (address: string) => server.sentTo(address).map(({ headers }) => headers['subject']);

/** GET and HEAD don't use a link up (T14). */
async function look(world: OpenWorld, link: string): Promise<void> {
  for (const method of ['GET', 'GET', 'GET', 'HEAD']) expect(await statusOf(world, link, method)).toBe(200);
}

eachStore(
  'an address',
  (world) => {
    it('ML-31: changes once the new mailbox has confirmed it, by POST alone (T14), with a link of the issuer (T15)', async () => {
      const user = await newUser(world(), { locale: 'en' });
      await askFor(world(), user.username);
      const reset = await linkTo(user.old);
      const to = newAddress();
      const link = await user.link(to);
      expect((await user.page()).text).toContain(to);
      expect(link).toMatch(new RegExp(`^${world().issuer}/email/[\\w-]{43}$`));
      await until(() => expect(subjectsTo(user.old)).toContain('New email address for Postern requested'));
      await look(world(), link);
      expect(await user.claims()).toMatchObject({ email: user.old });
      const browser = newBrowser(world());
      const page = await browser.open(link);
      expect(page.text).toContain(user.username);
      const { fields } = formOf(page, link);
      expect((await browser.post(link, {})).status).toBe(403);
      expect((await browser.post(link, fields, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect((await browser.post(link, fields)).text).toContain('Your email address is confirmed');
      expect(await user.claims()).toMatchObject({ email: to, email_verified: true });
      expect([await postLink(world(), link), await statusOf(world(), reset)]).toEqual([410, 410]);
      expect(await linkTo(user.old, 2)).toContain('/email/');
      expect(subjectsTo(user.old)).toContain('Your email address for Postern was changed');
      expect((await user.page()).text).toContain('Your email address was changed.');
      const { recorded } = world();
      const of = { account_id: user.id, outcome: 'success' };
      expect(recorded.audit('account_changed').at(-1)).toMatchObject({ ...of, action: 'email', by: 'link' });
      const used = expect.objectContaining({ ...of, action: 'address' }) as unknown;
      expect(recorded.audit('link_used')).toContainEqual(used);
      const metrics = JSON.stringify(await recorded.telemetry.metrics.read());
      expect([metrics, ...recorded.log, ...recorded.auditLines].join('')).not.toContain(link.slice(-43));
    });

    it('ML-32: is restored by each of the old mailboxes, which ends all sessions, changes and links since (T13)', async () => {
      const user = await newUser(world());
      const [b, c, d] = [newAddress(), newAddress(), newAddress()];
      expect(await postLink(world(), await user.link(b))).toBe(200);
      expect(await postLink(world(), await user.link(c))).toBe(200);
      const [undo, later] = [await linkTo(user.old), await linkTo(b, 2)];
      await askFor(world(), user.username);
      const dead = [undo, later, await linkTo(c, 2), await user.link(d)];
      await look(world(), undo);
      expect(await user.isSignedOut()).toBe(false);
      expect(await postLink(world(), undo)).toBe(200);
      expect(await user.claims()).toMatchObject({ email: user.old, email_verified: true });
      expect(await user.isSignedOut()).toBe(true);
      for (const link of dead) expect(await postLink(world(), link)).toBe(410);
      await until(() => expect(subjectsTo(user.old)).toContain('Email address for Postern changed'));
      // A change after that has an undo link of its own.
      await postLink(world(), await user.link(b, 3));
      expect(await postLink(world(), await linkTo(user.old, 2))).toBe(200);
    });

    it.each([
      ['a newer request', 'ask', newAddress()],
      ['its cancellation', 'cancel', ''],
      ['an administrator', 'set', newAddress()],
      ['a new password', 'password', ''],
      ['a sign-out everywhere (T13)', 'signOut', ''],
      ['the end of the account', 'remove', ''],
    ] as const)('ML-33: is not changed by a link after %s', async (_, act, email) => {
      const user = await newUser(world());
      const link = await user.link(newAddress());
      const page = await openLink(world(), link);
      await user[act](email);
      const before = await user.claims();
      expect((await page.post()).status).toBe(410);
      expect(await statusOf(world(), link)).toBe(410);
      expect(await user.claims()).toEqual(before);
    });

    it('ML-34: is not restored after an administrator has set another one, nor for a disabled user', async () => {
      const user = await newUser(world());
      await postLink(world(), await user.link(newAddress()));
      const undo = await linkTo(user.old);
      const states = createAccountStates(world().openedStore.documents);
      await states.update(user.id, { disabled: true });
      expect(await statusOf(world(), undo)).toBe(410);
      await states.update(user.id, { disabled: false });
      await look(world(), undo);
      await user.set(newAddress());
      expect(await statusOf(world(), undo)).toBe(410);
      // It doesn't work after the user's next change either.
      await postLink(world(), await user.link(newAddress()));
      expect(await statusOf(world(), undo)).toBe(410);
    });
  },
  { config },
);

describe('an address', () => {
  const saved: NewRecord[] = [];
  /** Runs before each write to a collection. */
  let delay: ((collection: string) => Promise<void>) | undefined;
  const breakable = (store: Store): Store => {
    const { documents, records } = store;
    const put: typeof documents.put = async (collection, ...write) => {
      await delay?.(collection);
      return documents.put(collection, ...write);
    };
    const save: typeof records.save = (record) => (saved.push(record), records.save(record));
    return Object.assign(store, { documents: { ...documents, put }, records: { ...records, save } });
  };
  const world = useWorld({ config, handStore: breakable });

  it('has one link for all tries of an email, as has a reset (T8)', async () => {
    const [user, to] = [await newUser(world()), newAddress()];
    await quiet(world());
    saved.splice(0);
    server.faults.data = '451 later';
    await askFor(world(), user.username);
    await user.ask(to);
    await untilTried(world(), 3);
    delete server.faults.data;
    await retryNow(world());
    await quiet(world());
    const keys = saved.filter(({ kind }) => kind.endsWith('Link')).map(({ key }) => key);
    expect([keys.length, new Set(keys).size]).toEqual([4, 2]);
  });

  it('gets the notice of what happened before it changed, also if it changes fast', async () => {
    const [user, to] = [await newUser(world()), newAddress()];
    const link = await user.link(to);
    await quiet(world());
    server.faults.data = '451 later';
    await signInWith(world(), newBrowser(world()), user.username);
    await untilTried(world(), 1);
    expect(await postLink(world(), link)).toBe(200);
    delete server.faults.data;
    await retryNow(world());
    await quiet(world());
    expect(subjectsTo(user.old)).toContain('New sign-in to Postern');
    const changed = 'Email address for Postern changed';
    expect(subjectsTo(to)).toEqual(['Confirm your email address for Postern', changed]);
    // A link works on its own page only (T13).
    const undo = await linkTo(user.old);
    const elsewhere = undo.replace('/email/', '/interaction/link/');
    expect([await statusOf(world(), undo), await statusOf(world(), elsewhere)]).toEqual([200, 410]);
  });

  it('is restored by the first mailbox while the undo of a later one is cut off', async () => {
    const [user, b] = [await newUser(world()), newAddress()];
    await postLink(world(), await user.link(b));
    const undo = await linkTo(user.old);
    await postLink(world(), await user.link(newAddress()));
    const later = await linkTo(b, 2);
    delay = async (collection) => {
      if (collection === 'account-state') throw new StoreUnavailable();
    };
    expect(await postLink(world(), later).finally(() => (delay = undefined))).toBe(503);
    expect(await postLink(world(), undo)).toBe(200);
    expect(await user.claims()).toMatchObject({ email: user.old });
  });

  it.each(['another change', 'an undo'])('is restored whatever is at once with %s', async (what) => {
    const user = await newUser(world());
    await postLink(world(), await user.link(newAddress()));
    const [undo, link] = [await linkTo(user.old), await user.link(newAddress())];
    const releases: (() => void)[] = [];
    delay = async (collection) => {
      if (collection === 'people') await new Promise<void>((resolve) => releases.push(resolve));
    };
    const first = postLink(world(), link);
    await until(() => expect(releases).toHaveLength(1));
    const second = postLink(world(), what === 'an undo' ? undo : await user.link(newAddress()));
    await until(() => expect(releases).toHaveLength(2));
    delay = undefined;
    releases[0]?.();
    expect(await first).toBe(200);
    releases[1]?.();
    expect(await second).toBe(what === 'an undo' ? 200 : 410);
    expect(await postLink(world(), undo)).toBe(what === 'an undo' ? 410 : 200);
    expect(await user.claims()).toMatchObject({ email: user.old });
  });

  it('is verified by its own link (T12), which is no change', async () => {
    const user = await newUser(world(), { email_verified: false });
    expect((await user.page()).text).toContain('Not verified yet.');
    expect(await postLink(world(), await user.link(user.old))).toBe(200);
    expect(await user.claims()).toMatchObject({ email: user.old, email_verified: true });
    expect((await user.page()).text).toMatch(/Verified<\/span>/);
    await user.ask(user.old);
    await quiet(world());
    expect(server.sentTo(user.old)).toHaveLength(1);
  });

  it('gets no email where it never was verified, and is by an emailed reset', async () => {
    const nobody = await newUser(world(), { email_verified: false });
    await postLink(world(), await nobody.link(newAddress()));
    await quiet(world());
    expect(server.sentTo(nobody.old)).toEqual([]);
    const user = await newUser(world());
    await askFor(world(), user.username);
    const password = `${OLD_PASSWORD}2`;
    await postLink(world(), await linkTo(user.old), { password, again: password });
    expect(await user.claims()).toMatchObject({ email: user.old, email_verified: true });
  });

  it('needs a form of its own page, and one mailbox (ML-19, T3)', async () => {
    const user = await newUser(world());
    const { action, fields } = formOf(await user.page(), '/account/email');
    const form = { ...fields, email: newAddress() };
    const send = (content: Record<string, string> | string, headers = {}) =>
      user.browser.post(action, content, headers).then(({ status }) => status);
    expect(await send(form, { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await send({ ...form, csrf: 'x' })).toBe(403);
    expect(await send(JSON.stringify(form), { 'content-type': 'application/json' })).toBe(415);
    expect(await send(`${new URLSearchParams(form).toString()}&email=b%40acme.example`)).toBe(400);
    for (const email of ['a@acme.example, x@evil.example', 'Bob <x@evil.example>', 'none', ''])
      expect(await send({ ...form, email })).toBe(422);
    expect((await user.ask('none')).text).toContain('Enter an email address');
    const ofFile = await openAccount(world(), newBrowser(world()), { username: 'alice' });
    expect(ofFile.text).not.toContain('/account/email');
  });

  it('may be another user’s, and nobody hears of that (ML-21)', async () => {
    const [one, other] = [await newUser(world()), await newUser(world())];
    const [known, unknown] = [await one.ask(other.old), await one.ask(newAddress())];
    expect([known.status, known.url]).toEqual([unknown.status, unknown.url]);
    await one.ask(other.old);
    await quiet(world());
    expect(subjectsTo(other.old)).toContain('Confirm your email address for Postern');
    await postLink(world(), server.sentTo(other.old).at(-1)?.link ?? '');
    expect(await one.claims()).toMatchObject({ email: other.old, email_verified: true });
    expect(await other.claims()).toEqual({ preferred_username: other.username, email: other.old });
  });

  it('is asked ten times a day for one user, and for one mailbox (T1)', async () => {
    const [user, to] = [await newUser(world()), newAddress()];
    for (let times = 0; times < 10; times += 1) expect((await user.ask(to)).status).toBe(200);
    const { status, text } = await user.ask(newAddress());
    expect([status, text]).toEqual([429, expect.stringMatching(/Try again in 2[34] hours\./)]);
    // Whatever other callers do, the owner of the mailbox gets a link.
    const tagged = to.replace('address', 'Address').replace('@', '+tag@');
    const stranger = await newUser(world());
    for (const expected of [200, 200, 429]) expect((await stranger.ask(tagged)).status).toBe(expected);
    await quiet(world());
    const owner = await newUser(world());
    expect(await postLink(world(), await owner.link(to, server.sentTo(to).length + 1))).toBe(200);
  });

  it('has no email of a change that a crash prevented', async () => {
    const user = await newUser(world());
    await user.link(newAddress());
    const { pending: { id = '' } = {} } = await createMailStates(world().openedStore.documents).get(user.id);
    const link = { purpose: 'undo', accountId: user.id, address: user.old, id } as const;
    await createMailJobs(world().openedStore).add([{ id, what: 'undo', accountId: user.id, link }]);
    await quiet(world());
    expect(subjectsTo(user.old)).toEqual(['New email address for Postern requested']);
  });
});

describe('an expired link', () => {
  standingClock();
  const world = useWorld({ config: { ...config, mail: { ...server.mail, sign_up: { domains: 'any' } } } });

  it('leads to the page where its user requests another one', async () => {
    const [user, newcomer] = [await newUser(world()), newAddress()];
    await askFor(world(), user.username);
    await askFor(world(), newcomer, { page: 'sign-up' });
    const links = [await linkTo(user.old), await linkTo(newcomer), await user.link(newAddress())];
    moveClock(DAY + 1);
    for (const [at, page] of ['/forgot', '/sign-up', '/account'].entries()) {
      const { status, text } = await newBrowser(world()).request(links[at] ?? '');
      expect([status, text]).toEqual([410, expect.stringContaining(`href="${world().issuer}${page}"`)]);
    }
  });
});
