// Sign-up: who can, and the page of the emailed link, where the newcomer chooses a username. The user is created there and not before, so
// that no one can reserve an address or a username.
import { domainToASCII } from 'node:url';
import type { Context } from 'koa';
import { HOUR } from '../../config/notation.ts';
import { usernameFault } from '../../config/text.ts';
import { actorOf } from '../../interaction/actor.ts';
import type { Host } from '../../interaction/host.ts';
import { clientAddressOf } from '../../observability/audit.ts';
import type { App } from '../../oidc/app.ts';
import { pageContextOf, sendPage, seeOther } from '../../oidc/send-page.ts';
import { addUser } from '../../users/acts.ts';
import { oneTimeLinkUrl } from '../../users/one-time-links.ts';
import { type NewUser, withName } from '../../users/stored-users.ts';
import { userOfStore } from '../../users/user.ts';
import { ADDRESSES, addressOf, mailboxOf, type MailSettings } from './feature.ts';
import type { FollowMailLink, Visit } from './link-page.ts';
import type { MailLink } from './links.ts';

/** Users with this address, up to five. An unverified address doesn't count, so no user can block another's address. */
export async function findByAddress({ config, storedUsers }: App, address: string) {
  const key = address.toLowerCase();
  const ofFile = config.users.filter((one) => addressOf(one)?.toLowerCase() === key);
  return [...ofFile, ...(await storedUsers.findBySort(ADDRESSES, key, 5))].slice(0, 5);
}

/** Whether a disabled user has this mailbox, with any tag. They can't sign up as another user. */
export async function isBarred(app: App, address: string): Promise<boolean> {
  const mailbox = mailboxOf(address);
  const tagged = await app.storedUsers.findByPrefix(ADDRESSES, mailbox.replace(/@.*/, '+'), 100);
  for (const user of [...(await findByAddress(app, mailbox)), ...tagged])
    if (mailboxOf(String(addressOf(user))) === mailbox && !(await app.accounts.findLiveNow(user.id)))
      return true;
  return false;
}

/** Checks the current configuration, which may have changed since the address was entered. */
export function canSignUp({ signUp }: MailSettings, address: string): boolean {
  const [, domain = ''] = address.split('@');
  const { domains = [] } = signUp ?? {};
  return domain !== '' && (domains === 'any' || domains.map(domainToASCII).includes(domain));
}

/** The ID in all open links for an address: only one creates a user, and any completes one whose creation was interrupted. */
export async function newcomerId(app: App, address: string, round = 0): Promise<string> {
  const id = `usr_${app.hash(`newcomer:${round}:${address.toLowerCase()}`).slice(0, 22)}`;
  const name = await app.storedUsers.begunName(id);
  return name === undefined ? newcomerId(app, address, round + 1) : id;
}

/** The recipient of an email with this link, who isn't a user yet. */
export const newcomer = ({ accountId: id, address: username }: MailLink) =>
  userOfStore({ id, username, passwordHash: undefined, groups: [], claims: {}, validAfter: 0 });

/** Without `@`: /forgot looks up usernames before addresses, so a username must not be another user's address. */
const USERNAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,63}$/u;

/** The username that was entered, or the one that the form suggests. */
const nameIn = (form: Visit['form'], email: string) =>
  form?.field('username').normalize('NFKC').trim() ?? /^[\w.-]{1,64}(?=@)/.exec(email)?.[0] ?? '';

export function followSignUp(host: Host, settings: MailSettings): FollowMailLink {
  const { accounts, issuer, limits, links, pages, storedUsers } = host;
  const { groups = [] } = settings.signUp ?? {};

  async function create(ctx: Context, user: NewUser, isBegun: boolean) {
    const { id: accountId, username, claims } = user;
    if (!USERNAME.test(username) || usernameFault(username) !== undefined) return 'invalid';
    // Counted first, because the answer reveals which usernames exist.
    await limits.takeDeadLink(clientAddressOf(ctx));
    if (!isBegun && (await accounts.lookUp(username)) !== undefined) return 'taken';
    // Saved before the user, so that an outage here leaves the emailed link open.
    const next = { purpose: 'invite', accountId, passwordSince: 0, stateSince: 0 } as const;
    const token = await links.create({ ...next, mailedTo: String(claims['email']) }, HOUR);
    // The first request that writes the user uses up the link.
    const isAdded = await addUser(host, actorOf(ctx, 'link'), user);
    if (isAdded) seeOther(ctx, oneTimeLinkUrl(issuer, token));
    return isAdded === false ? 'taken' : isAdded;
  }

  return async ({ accountId, address: email }, { ctx, form, ...target }) => {
    // A user whose creation was interrupted keeps the username, also with another link.
    const begun = await storedUsers.begunName(accountId);
    if (begun === undefined || !canSignUp(settings, email)) return undefined;
    if ((await findByAddress(host, email)).length > 0 || (await isBarred(host, email))) return undefined;
    const page = pageContextOf(ctx);
    const username = begun || nameIn(form, email);
    const claims = withName(username, { email, email_verified: true, locale: page.locale });
    const user = { id: accountId, username, passwordHash: undefined, groups, claims };
    const result = form ? await create(ctx, user, begun !== '') : 'asked';
    if (result === true || result === undefined) return result;
    const error = result === 'asked' ? undefined : result;
    ctx.status = error ? 422 : 200;
    sendPage(ctx, pages.render('sign-up', { outcome: 'name', email, username, error, ...target }, page));
    return true;
  };
}
