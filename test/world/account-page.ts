// The account page, as a user works with it in a browser.
import { hashPassword } from '../../src/users/passwords.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { type Browser, type Page } from './browser.ts';
import { newBrowser } from './person.ts';
import { type OpenWorld, PASSWORDS } from './world.ts';

/** A user in the store, with Alice's password. */
export const CAROL = { id: 'usr_carol00000000000003', username: 'carol', password: PASSWORDS.alice } as const;

export async function addCarol(
  { openedStore }: Pick<OpenWorld, 'openedStore'>,
  { id, username }: { readonly id: string; readonly username: string } = CAROL,
): Promise<void> {
  const passwordHash = await hashPassword(CAROL.password);
  const claims = { name: 'Carol Example', email: 'carol@example.com' };
  if (!(await createStoredUsers(openedStore).add({ id, username, passwordHash, claims }))) {
    throw new Error('there is a carol already');
  }
}

export const isAccountPage = ({ status, text }: Page) =>
  status === 200 && text.includes('<body class="page-account"');
export const isLoginPage = ({ text }: Page) => text.includes('name="password"') && text.includes('/login"');

/** Opens the account page, and signs in if it asks for that. */
export async function openAccount(
  world: Pick<OpenWorld, 'issuer' | 'base'>,
  browser: Browser = newBrowser(world),
  { username = 'carol', password = CAROL.password }: { username?: string; password?: string } = {},
): Promise<Page> {
  const page = await browser.open(`${world.issuer}/account`);
  return isLoginPage(page) ? browser.submit(page, '/login', { username, password }) : page;
}

/** The ids of the forms whose action ends with `action`, from top to bottom. */
export function idsOf({ text }: Page, action: string): readonly string[] {
  const forms = text.split('<form ').filter((form) => form.includes(`${action}"`));
  return forms.flatMap((form) => /name="id" value="([^"]*)"/.exec(form)?.[1] ?? []);
}
