// A user's change of address: requested on the account page, confirmed by a link to the new address, undone by a link to the old one.
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { actorOf } from '../../interaction/actor.ts';
import type { Section } from '../../interaction/own-page.ts';
import type { App } from '../../oidc/app.ts';
import { pageContextOf } from '../../oidc/send-page.ts';
import { noteInActivity, setEmail, signOut } from '../../users/acts.ts';
import type { User } from '../../users/user.ts';
import { addressOf, mailAddress } from './feature.ts';
import { type MailJob, type MailJobs, newJob } from './jobs.ts';
import type { Visit } from './link-page.ts';
import type { MailLink } from './links.ts';
import type { MailState, MailStates } from './state.ts';

type Parts = { readonly app: App; readonly jobs: MailJobs; readonly states: MailStates };

const isCurrent = ({ pending, undoId }: MailState, { purpose, id, address }: MailLink) =>
  purpose === 'undo' ? id === undoId : id === pending?.id && address === pending.address;

/** `pending`: a confirmation may have been cut off before it was noted. */
const isOwn = ({ own, pending }: MailState, email: unknown) =>
  email !== undefined && [own, pending?.address].includes(email);

export type AddressLinks = ReturnType<typeof createAddressLinks>;

export function createAddressLinks({ app, jobs, states }: Parts) {
  const { findLiveNow } = app.accounts;

  async function find(link: MailLink) {
    const { accountId, address } = link;
    const isUndo = link.purpose === 'undo';
    const state = await states.get(accountId);
    if (!isCurrent(state, link) || !app.config.account) return undefined;
    const user = await findLiveNow(accountId, isUndo ? undefined : state.pending);
    const email = user?.claims['email'];
    const isFrom = email === address || (isUndo ? isOwn(state, email) : email === state.pending?.from);
    return isFrom && user?.source === 'store' ? { user, undoId: state.undoId ?? '' } : undefined;
  }

  async function use(ctx: Context, link: MailLink): Promise<string | undefined> {
    const { accountId, address } = link;
    const isUndo = link.purpose === 'undo';
    const found = await find(link);
    if (found === undefined) return undefined;
    const { user, undoId } = found;
    const actor = actorOf(ctx, 'link');
    const change = () => setEmail(app, actor, accountId, { from: user.claims['email'], to: address });
    const undoing = { purpose: 'undo', accountId, address: addressOf(user) ?? '', id: undoId } as const;
    const letter = { id: `${link.id}.undo`, what: 'undo', accountId, link: undoing } as const;
    // Stored before the change, so that no crash leaves one that can't be undone.
    const changed = await (isUndo ? change() : jobs.around(letter, change));
    const now = changed ?? (await findLiveNow(accountId));
    // Another change was first.
    if (now?.claims['email'] !== address) return use(ctx, link);
    if (isUndo) await signOut(app, actor, accountId);
    // Last, so that what an outage cuts off can be repeated.
    const isFirst = await states.update(accountId, (before) => {
      const after = { pending: undefined, own: address, undoId: isUndo ? randomUUID() : undoId };
      return isCurrent(before, link) ? after : undefined;
    });
    if (isFirst && user.claims['email'] !== address)
      await noteInActivity(app, actor, accountId, { what: 'address_changed' });
    return isFirst ? user.username : undefined;
  }

  return {
    follow: async (link: MailLink, { ctx, form }: Visit) =>
      form ? use(ctx, link) : (await find(link))?.user.username,
    /** Where the email goes. Undefined: it isn't needed, or a crash prevented the change that it undoes. */
    async recipientOf({ link, to }: MailJob, user: User): Promise<string | undefined> {
      if (link === undefined) return to ?? addressOf(user);
      const isNeeded = link.purpose === 'address' || addressOf(user) !== link.address;
      return isNeeded && (await find(link)) ? link.address : undefined;
    },
  };
}

/** The forms that ask for a link, of users of the store. */
export function addressSection({ app, jobs, states }: Parts): Section {
  const { issuer, limits } = app;
  return {
    async fields({ account: { id, claims, source }, session }) {
      if (source !== 'store') return {};
      const { pending } = await states.get(id);
      const isOpen = pending?.generation === session.issued.generation && pending?.from === claims['email'];
      const isVerified = claims['email_verified'] === true;
      const action = `${issuer}${ACCOUNT_PATH}/email`;
      return { address: { action, isVerified, pending: isOpen ? pending?.address : undefined } };
    },
    changes: {
      async email(ctx, { account, session }, form) {
        const { id: accountId, claims, source } = account;
        const address = mailAddress(form.field('email').trim());
        if (address === undefined || source !== 'store') return 'no_address';
        // Not the limits of `mail.recipient`: they would tell whether the mailbox is another user's.
        const quotas = [accountId, address.toLowerCase()].map((one) => limits.quotaOf('mail.changes', one));
        await limits.takeExactly({ address: String(ctx.state['clientAddress']) }, quotas);
        const [from, id] = [claims['email'], randomUUID()];
        if (from === address && claims['email_verified'] === true) return undefined;
        const what = 'address_requested';
        const note = { what, at: Math.floor(app.storeNow() / 1000), place: actorOf(ctx).place };
        const to = addressOf(account);
        if (to !== undefined && to !== address) await jobs.add([newJob({ what, accountId, to, note })]);
        const link = { purpose: 'address', accountId, address, id } as const;
        const { locale } = pageContextOf(ctx);
        await jobs.around({ id, what: 'address', accountId, link, locale }, () =>
          states.update(accountId, (before) => {
            const pending = { id, address, from, generation: session.issued.generation };
            // An address that an administrator set isn't undone.
            return { pending, own: from, undoId: (isOwn(before, from) && before.undoId) || randomUUID() };
          }),
        );
        return undefined;
      },
    },
  };
}
