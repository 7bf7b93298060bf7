// Users for the email tests, in the store of a running world.
import { expect } from 'vitest';
import { createMailJobs } from '../../../src/features/mail/jobs.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers, type NewUser } from '../../../src/users/stored-users.ts';
import { isLoginPage, openAccount } from '../../world/account-page.ts';
import { type Browser, fieldOf, formOf } from '../../world/browser.ts';
import { until } from '../../world/clock.ts';
import { begin, newBrowser } from '../../world/person.ts';
import type { OpenWorld } from '../../world/world.ts';
import type { startMailServer } from './mail-server.ts';

export const OLD_PASSWORD = 'the-old-password-of-anna';
const hash = await hashPassword(OLD_PASSWORD);
export const idOfStored = (username: string) => `usr_${username.padEnd(20, '0')}`;

export async function addPeople({ openedStore }: Storing): Promise<void> {
  const users = createStoredUsers(openedStore);
  const add = (username: string, claims: NewUser['claims'], more: Partial<NewUser> = {}) =>
    users.add({ id: idOfStored(username), username, passwordHash: hash, claims, ...more });
  await add('anna', { email: 'anna@acme.example', locale: 'de', name: 'Anna" <x@evil.example>' });
  await add('ben', {});
  await add('sue', { email: 'Team@acme.example' });
  await add('tom', { email: 'team@ACME.example' });
  await add('dora', { email: 'dora@acme.example' }, { passwordHash: undefined });
  await add('eve', { email: 'eve@acme.example' });
  await add('lou', { email: 'lou@acme.example' });
  await add('nick', { email: 'nick@acme.example', email_verified: false });
  const file = { path: '/etc/hostname' };
  await add('oz', { email: file });
  await add('pia', { email: 'pia@acme.example', locale: file, name: file });
  await createAccountStates(openedStore.documents).update(idOfStored('eve'), { disabled: true });
}

let networks = 0;
/** Options of a request from another network each time: dead links and failed names count per network. */
export function fromElsewhere() {
  networks += 1;
  return { headers: { 'x-forwarded-for': `10.${networks >> 8}.${networks & 255}.7` } };
}

type Asking = { browser?: Browser; headers?: Record<string, string>; page?: 'forgot' | 'sign-up' };

/** Returns the answer of `/forgot`, or another page, to a form with this name. */
export async function askFor(
  world: Pick<OpenWorld, 'issuer' | 'base'>,
  typed: string,
  { browser = newBrowser(world), headers = fromElsewhere().headers, page = 'forgot' }: Asking = {},
) {
  const url = `${world.issuer}/${page}`;
  const csrf = fieldOf(await browser.request(url, { headers }), 'csrf');
  return browser.post(url, { csrf, [page === 'forgot' ? 'username' : 'email']: typed }, headers);
}

type Listener = Pick<OpenWorld, 'issuer' | 'base'>;

let count = 0;
export const newAddress = () => `address${(count += 1)}@acme.example`;

export const statusOf = async (world: Listener, link: string, method = 'GET') =>
  (await newBrowser(world).request(link, { method })).status;

/** Opens a link. `post` sends the form that its page has now, also later and again. */
export async function openLink(world: Listener, link: string, browser = newBrowser(world)) {
  const { headers } = fromElsewhere();
  const page = await browser.open(link, { headers });
  const post = async (fields = {}) =>
    page.status === 200 ? browser.post(link, { ...formOf(page, link).fields, ...fields }, headers) : page;
  return { ...page, post };
}

export const postLink = async (world: Listener, link: string, fields = {}) =>
  (await (await openLink(world, link)).post(fields)).status;

export async function signInWith(world: Listener, browser: Browser, username: string, headers = {}) {
  const { page } = await begin(world, { prompt: 'login' }, { browser });
  const after = await browser.submit(page, '/login', { username, password: OLD_PASSWORD }, headers);
  expect(after.text).not.toContain('name="password"');
}

type Storing = Pick<OpenWorld, 'openedStore'>;

/** Waits until no email and no event is pending. */
export async function quiet({ openedStore: { documents } }: Storing): Promise<void> {
  await until(async () => {
    expect([...(await documents.list('mail')), ...(await documents.list('user-events'))]).toEqual([]);
  });
}

/** Waits until so many emails have been tried once, and wait for the next try. */
export const untilTried = ({ openedStore }: Storing, emails: number) =>
  until(async () => {
    const jobs = (await createMailJobs(openedStore).list()).map(({ job }) => [job.failures, job.isHeld]);
    expect(jobs).toEqual(Array.from({ length: emails }, () => [1, false]));
  });

export async function retryNow({ openedStore }: Storing): Promise<void> {
  const jobs = createMailJobs(openedStore);
  for (const one of await jobs.list()) await jobs.change(one, { notBefore: 0 });
}

export function createAddressUsers(server: Awaited<ReturnType<typeof startMailServer>>) {
  /** Returns the link of the newest email to this address. */
  async function linkTo(address: string, times = 1): Promise<string> {
    const found = () => server.sentTo(address).filter(({ link }) => link !== undefined);
    await until(() => expect(found()).toHaveLength(times));
    return found().at(-1)?.link ?? '';
  }

  /** Adds a user to the store, with a browser that signs in as this user. */
  async function newUser(
    world: Listener & Storing,
    { email = newAddress(), ...others }: Record<string, unknown> = {},
  ) {
    // No name is a prefix of another: their ids would be equal.
    const username = `user${(count += 1)}x`;
    const id = idOfStored(username);
    const users = createStoredUsers(world.openedStore);
    await users.add({ id, username, passwordHash: hash, claims: { email, ...others } });
    const browser = newBrowser(world);
    const page = () => openAccount(world, browser, { username, password: OLD_PASSWORD });
    const ask = async (to: string) => browser.submit(await page(), '/account/email', { email: to });
    return {
      id,
      username,
      browser,
      page,
      old: String(email),
      ask,
      /** The link for a new address. */
      link: (to: string, times = 1) => ask(to).then(() => linkTo(to, times)),
      isSignedOut: async () => isLoginPage(await browser.open(`${world.issuer}/account`)),
      claims: async () => (await users.findById(id))?.claims,
      set: (to: string) => users.setGranted(id, (before) => ({ ...before, claims: { email: to } })),
      async cancel() {
        const before = await page();
        const after = await browser.submit(before, '/account/email', { cancel: 'yes' });
        expect([before, after].map(({ text }) => text.includes('name="cancel"'))).toEqual([true, false]);
      },
      password: () => users.setPassword(id, hash, Date.now() / 1000),
      signOut: () =>
        createAccountStates(world.openedStore.documents).update(id, { validAfter: Date.now() / 1000 + 1 }),
      remove: () => users.remove(id),
    };
  }
  return { linkTo, newUser };
}
