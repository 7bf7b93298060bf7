// Who is meant by what was typed at /forgot.
import type { App } from '../../oidc/app.ts';
import type { User } from '../../users/user.ts';
import { addressOf } from './jobs.ts';
import { mailAddress } from './feature.ts';

/** Users who share a mailbox. */
const MOST = 5;

/** By username, else by email address. */
export async function findByName(
  { accounts, config }: App,
  typed: string,
): Promise<readonly Pick<User, 'id'>[]> {
  const user = await accounts.lookUp(typed);
  const address = mailAddress(typed.trim())?.toLowerCase();
  if (user !== undefined || address === undefined) return user ? [user] : [];
  return config.users.filter((one) => addressOf(one)?.toLowerCase() === address).slice(0, MOST);
}
