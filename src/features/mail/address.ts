// A user's change of address: requested on the account page, confirmed by a link to the new address, undone by a link to the old one.
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { actorOf } from '../../interaction/actor.ts';
import type { Section } from '../../interaction/account-page.ts';
import { clientAddressOf } from '../../observability/audit.ts';
import type { App } from '../../oidc/app.ts';
import { pageContextOf } from '../../oidc/send-page.ts';
import { type Actor, noteChange, noteInActivity, setEmail, voidAll } from '../../users/acts.ts';
import type { User } from '../../users/user.ts';
import { newUserEvent, type Note } from '../../users/user-events.ts';
import { addressOf, mailAddress, mailboxOf } from './feature.ts';
import { type MailJob, type MailJobs, newJob } from './jobs.ts';
import type { Visit } from './link-page.ts';
import type { MailLink } from './links.ts';
import type { MailState, MailStates } from './state.ts';

type Parts = { readonly app: App; readonly jobs: MailJobs; readonly states: MailStates };

const isCurrent = ({ pending }: MailState, { id, address }: MailLink) =>
  id === pending?.id && address === pending.address;

/** The changes that can be undone while the user has this address: none after an administrator set another one. */
function undoable({ changes = [] }: MailState, email: unknown) {
  const last = changes.findLastIndex(({ isDone }) => isDone);
  // Changes after the last completed one are in progress at the same time.
  const at = changes.findLastIndex(({ from, to, isDone }) => email === to || (email === from && !isDone));
  return email !== undefined && at >= last ? changes.slice(0, at + 1) : [];
}

/** The address that the user had at the time of an event, if they have changed it since: a change doesn't divert its notice. */
function addressAt(state: MailState, { what, at }: Note, { claims }: User): string | undefined {
  const next = undoable(state, claims['email']).find(({ until = 0 }) => until >= at * 1000);
  return what === 'address_changed' ? undefined : mailAddress(next?.from);
}

/** Signs the user out. Recorded once, by the request that finishes; a crash right after `finish` loses the record. */
async function endSessions(app: App, actor: Actor, accountId: string, finish: () => Promise<boolean>) {
  await app.userEvents.around(newUserEvent(accountId, 'ended'), () => voidAll(app, accountId));
  if (!(await finish())) return false;
  noteChange(app, actor, accountId, 'sign-out');
  await noteInActivity(app, actor, accountId, { what: 'sessions_ended' });
  return true;
}

export type AddressLinks = ReturnType<typeof createAddressLinks>;

export function createAddressLinks({ app, jobs, states }: Parts) {
  const { findLiveNow } = app.accounts;

  async function find(link: MailLink) {
    const { accountId, address } = link;
    const isUndo = link.purpose === 'undo';
    const state = await states.get(accountId);
    if (!app.config.account) return undefined;
    const user = await findLiveNow(accountId, isUndo ? undefined : state.pending);
    const email = user?.claims['email'];
    const changes = email === address ? state.changes : undoable(state, email);
    const isOpen = isUndo
      ? changes?.some(({ id }) => id === link.id)
      : isCurrent(state, link) && [address, state.pending?.from].includes(email);
    return isOpen && user?.source === 'store' ? user : undefined;
  }

  /** Runs before the change, so that no crash or other request prevents its undo. Users make fewer than 100 changes while links last. */
  const keepChange = (link: MailLink, email: unknown, verified?: string) =>
    states.update(link.accountId, (before) => {
      const { id, address } = link;
      const { changes = [] } = before;
      const at = changes.findIndex((one) => one.id === id);
      if (link.purpose === 'undo') {
        // Not done yet, so that a crash doesn't prevent the undo of earlier changes. Later ones may be in progress.
        const undo = { ...changes[at], id, from: address, to: String(email), isDone: false };
        const later = changes.slice(at + 1).filter(({ isDone }) => !isDone);
        return at === -1 ? undefined : { changes: [...changes.slice(0, at), undo, ...later] };
      }
      const others = undoable(before, email).filter((one) => one.id !== id);
      const until = verified && { until: app.storeNow() };
      const change = { ...(changes[at] ?? { id, from: email, to: address }), ...until };
      return isCurrent(before, link) ? { changes: [...others, change].slice(-100) } : undefined;
    });

  /** Runs last, so that an interrupted request can be repeated. False: another request finished. An undo keeps the changes before it. */
  const finish = (link: MailLink) =>
    states.update(link.accountId, (before) => {
      const { pending, changes = [] } = before;
      const isUndo = link.purpose === 'undo';
      const at = changes.findIndex(({ id, isDone }) => id === link.id && (isUndo || !isDone));
      const change = changes[at];
      if (change === undefined) return undefined;
      if (isUndo) return { pending: undefined, changes: changes.slice(0, at) };
      const newer = isCurrent(before, link) ? undefined : pending;
      return { pending: newer, changes: changes.with(at, { ...change, isDone: true }) };
    });

  async function use(ctx: Context, link: MailLink): Promise<string | undefined> {
    const { accountId, address, id } = link;
    const isUndo = link.purpose === 'undo';
    const user = await find(link);
    const from = user?.claims['email'];
    if (user === undefined || !(await keepChange(link, from, addressOf(user)))) return undefined;
    const actor = actorOf(ctx, 'link');
    const change = () => setEmail(app, actor, accountId, { from, to: address });
    const undoing = { purpose: 'undo', accountId, address: addressOf(user) ?? '', id } as const;
    const letter = { id: `${id}.undo`, what: 'undo', accountId, link: undoing } as const;
    const changed = await (isUndo ? change() : jobs.around(letter, change));
    const now = changed ?? (await findLiveNow(accountId));
    // Another change came first.
    if (now?.claims['email'] !== address) return use(ctx, link);
    const end = () => finish(link);
    if (!(await (isUndo ? endSessions(app, actor, accountId, end) : end()))) return undefined;
    if (from !== address) await noteInActivity(app, actor, accountId, { what: 'address_changed' });
    return user.username;
  }

  return {
    follow: async (link: MailLink, { ctx, form }: Visit) =>
      form ? use(ctx, link) : (await find(link))?.username,
    /** Resolves the recipient. Undefined: the email isn't needed, or a crash prevented the change that it undoes. */
    async recipientOf({ link, note }: MailJob, user: User): Promise<string | undefined> {
      if (link === undefined)
        return (note && addressAt(await states.get(user.id), note, user)) || addressOf(user);
      const isNeeded = link.purpose === 'address' || addressOf(user) !== link.address;
      return isNeeded && (await find(link)) ? link.address : undefined;
    },
  };
}

/** The forms that request a link or cancel the request, for users in the store. */
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
        if (form.field('cancel') !== '') {
          await states.update(accountId, () => ({ pending: undefined }));
          return undefined;
        }
        const address = mailAddress(form.field('email').trim());
        if (address === undefined || source !== 'store') return 'no_address';
        // Not the limits of `mail.recipient`: they would reveal whether the mailbox is another user's.
        const [mailbox, caller] = [mailboxOf(address), { address: clientAddressOf(ctx) }];
        const quotas = (...subjects: string[]) => subjects.map((one) => limits.quotaOf('mail.changes', one));
        const { used } = await limits.takeExactly(caller, quotas(accountId, `${accountId} ${mailbox}`));
        // A user's first request for a mailbox doesn't count. Otherwise others could block the mailbox for its owner.
        if (Number(used[1]) > 1) await limits.takeExactly(caller, quotas(mailbox));
        const [from, id] = [claims['email'], randomUUID()];
        if (from === address && claims['email_verified'] === true) return undefined;
        const what = 'address_requested';
        const note = { what, at: Math.floor(app.storeNow() / 1000), place: actorOf(ctx).place };
        if (![undefined, address].includes(addressOf(account)))
          await jobs.add([newJob({ what, accountId, note })]);
        const link = { purpose: 'address', accountId, address, id } as const;
        const { locale } = pageContextOf(ctx);
        await jobs.around({ id, what: 'address', accountId, link, locale }, () =>
          states.update(accountId, () => ({
            pending: { id, address, from, generation: session.issued.generation },
          })),
        );
        return undefined;
      },
    },
  };
}
