// The people of the cases of email, in the store of a running world.
import { createAccountStates } from '../../../src/users/account-state.ts';
import { hashPassword } from '../../../src/users/passwords.ts';
import { createStoredUsers, type NewUser } from '../../../src/users/stored-users.ts';
import type { Browser } from '../../world/browser.ts';
import type { OpenWorld } from '../../world/world.ts';
import { newBrowser } from '../../world/person.ts';

export const OLD_PASSWORD = 'the-old-password-of-anna';
const hash = await hashPassword(OLD_PASSWORD);
export const idOfStored = (username: string) => `usr_${username.padEnd(20, '0')}`;

export async function addPeople({ openedStore }: Pick<OpenWorld, 'openedStore'>): Promise<void> {
  const users = createStoredUsers(openedStore);
  const add = (username: string, claims: NewUser['claims'], passwordHash: string | undefined = hash) =>
    users.add({ id: idOfStored(username), username, passwordHash, claims });
  await add('anna', { email: 'anna@acme.example', locale: 'de', name: 'Anna" <x@evil.example>' });
  await add('ben', {});
  await add('sue', { email: 'Team@acme.example' });
  await add('tom', { email: 'team@ACME.example' });
  await users.add({
    id: idOfStored('dora'),
    username: 'dora',
    passwordHash: undefined,
    claims: { email: 'dora@acme.example' },
  });
  await add('eve', { email: 'eve@acme.example' });
  await add('lou', { email: 'lou@acme.example' });
  await add('nick', { email: 'nick@acme.example', email_verified: false });
  await createAccountStates(openedStore.documents).update(idOfStored('eve'), { disabled: true });
}

export const fieldOf = (page: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? '';

type Asking = { browser?: Browser; headers?: Record<string, string>; page?: 'forgot' | 'sign-up' };

/** What `/forgot`, or another page, answers to a form with this name. */
export async function askFor(
  world: Pick<OpenWorld, 'issuer' | 'base'>,
  typed: string,
  { browser = newBrowser(world), headers = {}, page = 'forgot' }: Asking = {},
) {
  const url = `${world.issuer}/${page}`;
  const { text } = await browser.request(url, { headers });
  const field = page === 'forgot' ? 'username' : 'email';
  const body = new URLSearchParams({ csrf: fieldOf(text, 'csrf'), [field]: typed });
  return browser.request(url, { method: 'POST', body, headers });
}
