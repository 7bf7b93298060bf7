// A user's change of address, over HTTP and SMTP: confirmed by the new mailbox, undone by the old one.
import { afterAll, describe, expect, it } from 'vitest';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { createMailStates } from '../../../src/features/mail/state.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers } from '../../../src/users/stored-users.ts';
import { isAccountPage, isLoginPage, openAccount } from '../../world/account-page.ts';
import { type Browser, formOf } from '../../world/browser.ts';
import { until } from '../../world/clock.ts';
import { eachStore, useWorld } from '../../world/each-store.ts';
import { newBrowser } from '../../world/person.ts';
import { get } from '../../world/requests.ts';
import type { OpenWorld } from '../../world/world.ts';
import { startMailServer } from './mail-server.ts';
import { askFor, fieldOf, idOfStored } from './people.ts';

const server = await startMailServer();
afterAll(() => server.stop());
const config = { mail: server.mail, account: true };
const PASSWORD = 'the-password-of-the-user';
const passwordHash = await hashPassword(PASSWORD);

let count = 0;
const newAddress = () => `address${(count += 1)}@acme.example`;

/** A user of the store and a browser that they are signed in with. */
async function newUser(world: OpenWorld, { email = newAddress(), ...others }: Record<string, unknown> = {}) {
  const username = `user${(count += 1)}`;
  const id = idOfStored(username);
  const users = createStoredUsers(world.openedStore);
  await users.add({ id, username, passwordHash, claims: { email, ...others } });
  const browser = newBrowser(world);
  const page = (of: Browser = browser) => openAccount(world, of, { username, password: PASSWORD });
  return {
    id,
    username,
    browser,
    page,
    old: String(email),
    ask: async (to: string, of = browser) => of.submit(await page(of), '/account/email', { email: to }),
    claims: async () => (await users.findById(id))?.claims,
    set: (claims: object) => users.setGranted(id, (before) => ({ ...before, claims: { ...claims } })),
    remove: () => users.remove(id),
  };
}

/** The newest email with a link there. */
async function linkTo(address: string, times = 1): Promise<string> {
  const found = () => server.sentTo(address).filter(({ link }) => link !== undefined);
  await until(() => expect(found()).toHaveLength(times));
  return found().at(-1)?.link ?? '';
}
const subjectsTo = (address: string) => server.sentTo(address).map(({ headers }) => headers['subject']);

const statusOf = async (world: OpenWorld, link: string, method = 'GET') =>
  (await newBrowser(world).request(link, { method })).status;

async function postLink(world: OpenWorld, link: string): Promise<number> {
  const browser = newBrowser(world);
  const page = await browser.open(link);
  return page.status === 200 ? (await browser.send(page, link)).status : page.status;
}

async function quiet({ openedStore: { documents } }: OpenWorld): Promise<void> {
  await until(async () => {
    expect([...(await documents.list('mail')), ...(await documents.list('user-events'))]).toEqual([]);
  });
}

eachStore(
  'an address',
  (world) => {
    it('changes once the new mailbox has confirmed it, by POST alone (T14), with a link of the issuer (T15)', async () => {
      const user = await newUser(world(), { locale: 'en' });
      await askFor(world(), user.username);
      const reset = await linkTo(user.old);
      const to = newAddress();
      expect((await user.ask(to)).text).toContain(to);
      const link = await linkTo(to);
      expect(link).toMatch(new RegExp(`^${world().issuer}/email/[\\w-]{43}$`));
      await until(() => expect(subjectsTo(user.old)).toContain('New email address for Postern requested'));
      for (const method of ['GET', 'GET', 'GET', 'HEAD'])
        expect(await statusOf(world(), link, method)).toBe(200);
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
      const index = createStoredUsers(world().openedStore);
      expect((await index.findBySort('mail-addresses', to, 5)).map(({ id }) => id)).toEqual([user.id]);
      expect(await linkTo(user.old, 2)).toContain('/email/');
      expect(subjectsTo(user.old)).toContain('Your email address for Postern was changed');
      expect((await user.page()).text).toContain('Your email address was changed.');
      const { recorded } = world();
      expect(recorded.audit('account_changed').at(-1)).toMatchObject({
        action: 'email',
        by: 'link',
        account_id: user.id,
      });
      expect(recorded.audit('link_used')).toContainEqual(
        expect.objectContaining({ action: 'address', outcome: 'success', account_id: user.id }),
      );
      const token = link.slice(-43);
      expect([...recorded.log, ...recorded.auditLines].join('')).not.toContain(token);
      expect(JSON.stringify(await recorded.telemetry.metrics.read())).not.toContain(token);
    });

    it('is restored by each of the old mailboxes, which ends all sessions, changes and links since (T13)', async () => {
      const user = await newUser(world());
      const [b, c, d] = [newAddress(), newAddress(), newAddress()];
      const undos = [];
      for (const [from, to] of [
        [user.old, b],
        [b, c],
      ] as const) {
        await user.ask(to);
        expect(await postLink(world(), await linkTo(to))).toBe(200);
        undos.push(await linkTo(from, from === user.old ? 1 : 2));
      }
      await askFor(world(), user.username);
      const reset = await linkTo(c, 2);
      await user.ask(d);
      const pending = await linkTo(d);
      const [undo = '', later = ''] = undos;
      for (const method of ['GET', 'GET', 'GET', 'HEAD'])
        expect(await statusOf(world(), undo, method)).toBe(200);
      expect(isAccountPage(await user.browser.open(`${world().issuer}/account`))).toBe(true);
      expect(await postLink(world(), undo)).toBe(200);
      expect(await user.claims()).toMatchObject({ email: user.old, email_verified: true });
      expect(isLoginPage(await user.browser.open(`${world().issuer}/account`))).toBe(true);
      for (const link of [undo, later, pending, reset]) expect(await postLink(world(), link)).toBe(410);
      await until(() => expect(subjectsTo(user.old)).toContain('Email address for Postern changed'));
      // A change after that has an undo link of its own.
      const fresh = newBrowser(world());
      await user.ask(b, fresh);
      await postLink(world(), await linkTo(b, 3));
      expect(await postLink(world(), await linkTo(user.old, 2))).toBe(200);
    });

    it.each([
      ['a newer request', (user: User) => user.ask(newAddress())],
      ['an administrator', (user: User) => user.set({ email: newAddress() })],
      ['a new password', (user: User) => passwordOf(user)],
      ['the end of the account', (user: User) => user.remove()],
    ])('is not changed by a link after %s', async (_, act) => {
      const user = await newUser(world());
      const to = newAddress();
      await user.ask(to);
      const link = await linkTo(to);
      const open = newBrowser(world());
      const page = await open.open(link);
      await act(user);
      const before = await user.claims();
      expect((await open.send(page, link)).status).toBe(410);
      expect(await statusOf(world(), link)).toBe(410);
      expect(await user.claims()).toEqual(before);
    });
    type User = Awaited<ReturnType<typeof newUser>>;
    const passwordOf = ({ id }: User) =>
      createStoredUsers(world().openedStore).setPassword(id, passwordHash, Date.now() / 1000);

    it('is not restored after an administrator has set another one, nor for a disabled user', async () => {
      const user = await newUser(world());
      const to = newAddress();
      await user.ask(to);
      await postLink(world(), await linkTo(to));
      const undo = await linkTo(user.old);
      const states = createAccountStates(world().openedStore.documents);
      await states.update(user.id, { disabled: true });
      expect(await statusOf(world(), undo)).toBe(410);
      await states.update(user.id, { disabled: false });
      expect(await statusOf(world(), undo)).toBe(200);
      await user.set({ email: 'set-by-an-administrator@acme.example' });
      expect(await statusOf(world(), undo)).toBe(410);
      // Nor after the user's next change.
      await user.ask(newAddress(), newBrowser(world()));
      expect(await statusOf(world(), undo)).toBe(410);
    });

    it('changes once for uses at once, and what was cut off can be repeated', async () => {
      const user = await newUser(world());
      const to = newAddress();
      await user.ask(to);
      const link = await linkTo(to);
      const changes = () =>
        world()
          .recorded.audit('account_changed')
          .filter((one) => one['account_id'] === user.id);
      const states = createMailStates(world().openedStore.documents);
      const before = await states.get(user.id);
      const statuses = await Promise.all(Array.from({ length: 4 }, () => postLink(world(), link)));
      expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 410, 410, 410]);
      expect(changes()).toHaveLength(1);
      await states.update(user.id, () => before);
      expect(await postLink(world(), link)).toBe(200);
      expect(changes()).toHaveLength(1);
      const undo = await linkTo(user.old);
      // The same of an undo: the address is restored, and the rest is not done.
      await user.set({ email: user.old, email_verified: true });
      expect(await postLink(world(), undo)).toBe(200);
      expect(isLoginPage(await user.browser.open(`${world().issuer}/account`))).toBe(true);
      expect(await postLink(world(), undo)).toBe(410);
    });
  },
  { config },
);

describe('an address', () => {
  const world = useWorld({ config });

  it('is verified by its own link (T12), which is no change', async () => {
    const user = await newUser(world(), { email_verified: false });
    const page = await user.page();
    expect(page.text).toContain('Not verified yet.');
    await user.ask(user.old);
    expect(await postLink(world(), await linkTo(user.old))).toBe(200);
    expect(await user.claims()).toMatchObject({ email: user.old, email_verified: true });
    expect((await user.page()).text).toMatch(/Verified<\/span>/);
    await user.ask(user.old);
    await quiet(world());
    expect(server.sentTo(user.old)).toHaveLength(1);
  });

  it('is never called verified after a change alone, and gets no notice where it never was', async () => {
    const user = await newUser(world(), { email_verified: false });
    const to = newAddress();
    await user.ask(to);
    expect(await user.claims()).toMatchObject({ email: user.old, email_verified: false });
    await postLink(world(), await linkTo(to));
    await quiet(world());
    expect(server.sentTo(user.old)).toEqual([]);
    expect(subjectsTo(to)).toHaveLength(2);
  });

  it('needs a form of its own page, and one mailbox (ML-19, T3)', async () => {
    const user = await newUser(world());
    const { action, fields } = formOf(await user.page(), '/account/email');
    const form = { ...fields, email: newAddress() };
    const body = new URLSearchParams(form).toString();
    const send = (content: Record<string, string> | string, headers = {}) =>
      user.browser.post(action, content, headers).then(({ status }) => status);
    expect(await send(form, { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await send({ ...form, csrf: 'x' })).toBe(403);
    expect(await send(JSON.stringify(form), { 'content-type': 'application/json' })).toBe(415);
    expect(await send(`${body}&email=b%40acme.example`)).toBe(400);
    for (const email of ['a@acme.example, x@evil.example', 'Bob <x@evil.example>', 'a@acme', 'none', ''])
      expect(await send({ ...form, email })).toBe(email === 'a@acme' ? 303 : 422);
    const refused = await user.ask('none');
    expect(refused.text).toContain('Enter an email address');
    const ofFile = newBrowser(world());
    expect((await openAccount(world(), ofFile, { username: 'alice' })).text).not.toContain('/account/email');
  });

  it('may be another user’s, and nobody hears of that (ML-21)', async () => {
    const [one, other] = [await newUser(world()), await newUser(world())];
    const known = await one.ask(other.old);
    await linkTo(other.old);
    const unknown = await one.ask(newAddress());
    expect([known.status, known.url]).toEqual([unknown.status, unknown.url]);
    await one.ask(other.old);
    await postLink(world(), await linkTo(other.old, 2));
    expect(await one.claims()).toMatchObject({ email: other.old, email_verified: true });
    expect(await other.claims()).toEqual({ preferred_username: other.username, email: other.old });
  });

  it('is asked ten times a day for one user, and for one mailbox (T1)', async () => {
    const [user, to] = [await newUser(world()), newAddress()];
    for (let times = 0; times < 10; times += 1) expect((await user.ask(to)).status).toBe(200);
    expect((await user.ask(newAddress())).status).toBe(429);
    expect((await (await newUser(world())).ask(to.toUpperCase().replace('ACME', 'acme'))).status).toBe(429);
  });

  it('has no email of a change that a crash prevented', async () => {
    const user = await newUser(world());
    await user.ask(newAddress());
    const { undoId: id = '' } = await createMailStates(world().openedStore.documents).get(user.id);
    const link = { purpose: 'undo', accountId: user.id, address: user.old, id } as const;
    await createMailJobs(world().openedStore).add([
      { id: 'cut off', what: 'undo', accountId: user.id, link },
    ]);
    await quiet(world());
    expect(subjectsTo(user.old)).toEqual(['New email address for Postern requested']);
  });
});

describe.each([
  ['without mail', { account: true }, 404],
  ['without the account page', { mail: server.mail }, 410],
])('%s', (_, off, status) => {
  const world = useWorld({ config: off });

  it('no address can be changed', async () => {
    expect(await statusOf(world(), `${world().issuer}/email/${'A'.repeat(43)}`)).toBe(status);
    const page = await get(world(), '/account/email', { accept: 'text/html' });
    expect([404, 405]).toContain(page.status);
    expect(fieldOf((await newBrowser(world()).open(`${world().issuer}/account`)).text, 'email')).toBe('');
  });
});
