// Sign-up: who can, and the page of the emailed link, where the newcomer chooses a username. The user is created there and not before, so
// that no one can reserve an address or a username.
import { domainToASCII } from 'node:url';
import type { Context } from 'koa';
import { HOUR } from '../../config/notation.ts';
import { usernameFault } from '../../config/text.ts';
import { actorOf } from '../../interaction/actor.ts';
import type { Form } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import { clientAddressOf } from '../../observability/audit.ts';
import type { App } from '../../oidc/app.ts';
import { pageContextOf, sendPage, seeOther } from '../../oidc/send-page.ts';
import { addUser } from '../../users/acts.ts';
import { oneTimeLinkUrl } from '../../users/one-time-links.ts';
import { type NewUser, withName } from '../../users/stored-users.ts';
import { userOfStore } from '../../users/user.ts';
import { USERS } from '../../users/username-index.ts';
import { ADDRESSES, addressOf, mailboxOf, type MailSettings } from './feature.ts';
import type { FollowMailLink } from './link-page.ts';
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

/** The ID in all open links for an address, so that only one creates a user. No user has had it. */
export async function newcomerId(app: App, address: string, round = 0): Promise<string> {
  const id = `usr_${app.hash(`newcomer:${round}:${address.toLowerCase()}`).slice(0, 22)}`;
  return (await app.store.documents.get(USERS, id)) ? newcomerId(app, address, round + 1) : id;
}

/** The recipient of an email with this link, who isn't a user yet. */
export const newcomer = ({ accountId: id, address: username }: MailLink) =>
  userOfStore({ id, username, passwordHash: undefined, groups: [], claims: {}, validAfter: 0 });

/** Without `@`: /forgot looks up usernames before addresses, so a username must not be another user's address. */
const USERNAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,63}$/u;

const typedIn = (form: Form) => form.field('username').normalize('NFKC').trim();
const suggestedFor = (email: string) => /^[\w.-]{1,64}(?=@)/.exec(email)?.[0] ?? '';

export function followSignUp(host: Host, settings: MailSettings): FollowMailLink {
  const { accounts, issuer, limits, links, pages, states, storedUsers } = host;
  const { groups = [] } = settings.signUp ?? {};

  async function create(ctx: Context, user: NewUser, isBegun: boolean) {
    const { username } = user;
    if (!USERNAME.test(username) || usernameFault(username) !== undefined) return 'invalid';
    // Counted first, because the answer reveals which usernames exist.
    await limits.takeDeadLink(clientAddressOf(ctx));
    if (!isBegun && (await accounts.lookUp(username)) !== undefined) return 'taken';
    // The first request that writes the user uses up the link.
    const isAdded = await addUser(host, actorOf(ctx, 'link'), user);
    return isAdded === undefined ? 'used' : isAdded || 'taken';
  }

  return async ({ accountId, address: email }, { ctx, form, ...target }) => {
    if (!canSignUp(settings, email) || (await findByAddress(host, email)).length > 0) return undefined;
    if (await isBarred(host, email)) return undefined;
    const page = pageContextOf(ctx);
    // If an outage interrupts a request after it has written its user, the link works again, for the same username.
    const begun = await storedUsers.findById(accountId);
    const username = begun?.username ?? (form ? typedIn(form) : suggestedFor(email));
    const claims = withName(username, { email, email_verified: true, locale: page.locale });
    const user = { id: accountId, username, passwordHash: undefined, groups, claims };
    const result = form && (await create(ctx, user, begun !== undefined));
    if (result === 'used') return undefined;
    if (result !== true) {
      ctx.status = result === undefined ? 200 : 422;
      const model = { outcome: 'name', email, username, error: result, ...target } as const;
      sendPage(ctx, pages.render('sign-up', model, page));
      return true;
    }
    const { validAfter: stateSince } = await states.get(accountId);
    const next = { purpose: 'invite', accountId, passwordSince: 0, stateSince } as const;
    seeOther(ctx, oneTimeLinkUrl(issuer, await links.create(next, HOUR)));
    return true;
  };
}
