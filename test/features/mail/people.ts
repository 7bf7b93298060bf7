// Users for the email tests, in the store of a running world.
import { expect } from 'vitest';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers, type NewUser } from '../../../src/users/stored-users.ts';
import { isLoginPage, openAccount } from '../../world/account-page.ts';
import { type Browser, formOf } from '../../world/browser.ts';
import { until } from '../../world/clock.ts';
import type { OpenWorld } from '../../world/world.ts';
import { newBrowser } from '../../world/person.ts';
import type { startMailServer } from './mail-server.ts';

export const OLD_PASSWORD = 'the-old-password-of-anna';
const hash = await hashPassword(OLD_PASSWORD);
export const idOfStored = (username: string) => `usr_${username.padEnd(20, '0')}`;

export async function addPeople({ openedStore }: Pick<OpenWorld, 'openedStore'>): Promise<void> {
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
  await createAccountStates(openedStore.documents).update(idOfStored('eve'), { disabled: true });
}

export const fieldOf = (page: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';

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
  const { text } = await browser.request(url, { headers });
  const field = page === 'forgot' ? 'username' : 'email';
  const body = new URLSearchParams({ csrf: fieldOf(text, 'csrf'), [field]: typed });
  return browser.request(url, { method: 'POST', body, headers });
}

type Listener = Pick<OpenWorld, 'issuer' | 'base'>;

let count = 0;
export const newAddress = () => `address${(count += 1)}@acme.example`;

export const statusOf = async (world: Listener, link: string, method = 'GET') =>
  (await newBrowser(world).request(link, { method })).status;

export async function postLink(world: Listener, link: string, fields = {}): Promise<number> {
  const browser = newBrowser(world);
  const from = fromElsewhere();
  const page = await browser.open(link, from);
  if (page.status !== 200) return page.status;
  return (await browser.post(link, { ...formOf(page, link).fields, ...fields }, from.headers)).status;
}

/** Waits until no email and no event is pending. */
export async function quiet({ openedStore: { documents } }: Pick<OpenWorld, 'openedStore'>): Promise<void> {
  await until(async () => {
    expect([...(await documents.list('mail')), ...(await documents.list('user-events'))]).toEqual([]);
  });
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
    world: Listener & Pick<OpenWorld, 'openedStore'>,
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
      remove: () => users.remove(id),
    };
  }
  return { linkTo, newUser };
}
