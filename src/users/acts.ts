// Acts on users by administrators on the command line, by users on a page, or by one-time link: each once, with its record in the audit
// trail, its line in the user's activity, and the event that notifies apps and lists (user-events.ts).
import type { AuditEvent } from '../features/index.ts';
import type { Audit, AuditFields, Origin } from '../observability/audit.ts';
import type { Log } from '../observability/log.ts';
import { type Clock, StoreUnavailable } from '../store/store.ts';
import { type AccountState, type AccountStates, laterThan, nextSecond } from './account-state.ts';
import { type FactorStore, forgiven } from './factors.ts';
import type { OneTimeLink, OneTimeLinks } from './one-time-links.ts';
import type { NewUser, StoredUsers } from './stored-users.ts';
import type { User } from './user.ts';
import { type UserEvents, newUserEvent } from './user-events.ts';
import type { Place, SecurityEvent, UserIndex } from './user-index.ts';

export type Actor = Origin & Readonly<{ by: 'command_line' | 'user' | 'link'; place?: Place }>;

/** The parts that acts need. Every act throws StoreUnavailable; if a part of the act is done by then, its event is stored. */
export type ActsParts = Readonly<{
  states: AccountStates;
  storedUsers: StoredUsers;
  factors: FactorStore;
  userEvents: UserEvents;
  /** Undefined if users can't see their activity. */
  activity: Pick<UserIndex, 'addEvent'> | undefined;
  audit: Audit<AuditEvent>;
  /** Undefined on the command line, which an error ends. */
  log?: Log;
  storeNow: Clock;
  notifiesUsers: boolean;
}>;

export function recordAct(
  { audit }: ActsParts,
  { by, address, request_id }: Actor,
  [event, outcome]: readonly [AuditEvent, 'success' | 'failure'],
  fields: AuditFields,
): void {
  audit.record(event, outcome, { address, request_id, by, ...fields });
}

export const noteChange = (parts: ActsParts, actor: Actor, accountId: string, action: string) =>
  recordAct(parts, actor, ['account_changed', 'success'], { account_id: accountId, action });

type Noting = Pick<ActsParts, 'activity' | 'log' | 'notifiesUsers' | 'storeNow' | 'userEvents'>;
type Noted = Readonly<{ accountId: string; what: string; place?: Place | undefined }>;

/** Ignores an outage and logs any other error: the act has happened, and an error page would deny it. */
const afterAct =
  ({ log }: Pick<Noting, 'log'>) =>
  (error: unknown) => {
    if (error instanceof StoreUnavailable) return;
    if (log === undefined) throw error;
    log.error({ err: error }, 'the change was made, but its user could not be notified');
  };

/** Notifies the user. */
export async function notify(parts: Omit<Noting, 'activity'>, { accountId, what, place }: Noted) {
  const { notifiesUsers, storeNow, userEvents } = parts;
  if (!notifiesUsers) return;
  const note = { what, place, at: Math.floor(storeNow() / 1000) };
  await userEvents.add([{ ...newUserEvent(accountId, 'noted'), note }]).catch(afterAct(parts));
}

/** Adds an event to the user's activity, and notifies the user. */
export async function noteInActivity(
  parts: Noting,
  actor: Pick<Actor, 'place'>,
  accountId: string,
  { what, app }: Pick<SecurityEvent, 'what' | 'app'>,
): Promise<void> {
  const { place } = actor;
  await parts.activity?.addEvent(accountId, { what, app, place }).catch(afterAct(parts));
  await notify(parts, { accountId, what, place });
}

type Voiding = Pick<ActsParts, 'states' | 'storeNow'>;

/** Ends all sessions and tokens, without a record, a notice or an event. */
export const voidAll = (
  { states, storeNow }: Voiding,
  accountId: string,
  change: Partial<AccountState> = {},
) =>
  states.update(accountId, ({ validAfter }) => ({ ...change, validAfter: laterThan(validAfter, storeNow) }));

/** Ends all sessions and tokens, even if the user is enabled again. Resolves since when (epoch seconds). */
function endAll(parts: ActsParts, actor: Actor, accountId: string, change: Partial<AccountState> = {}) {
  return parts.userEvents.around(newUserEvent(accountId, 'ended'), async () => {
    const { validAfter } = await voidAll(parts, accountId, change);
    const isDisabled = change.disabled === true;
    noteChange(parts, actor, accountId, isDisabled ? 'disable' : 'sign-out');
    if (isDisabled) await notify(parts, { accountId, what: 'disabled' });
    await noteInActivity(parts, actor, accountId, { what: 'sessions_ended' });
    return validAfter;
  });
}

export const signOut = (parts: ActsParts, actor: Actor, accountId: string) => endAll(parts, actor, accountId);

export const disable = (parts: ActsParts, actor: Actor, accountId: string) =>
  endAll(parts, actor, accountId, { disabled: true });

/** Enables the user, and clears failed sign-ins. */
export async function enable(parts: ActsParts, actor: Actor, accountId: string): Promise<void> {
  await parts.states.update(accountId, { disabled: false, attemptsSince: parts.storeNow() });
  await parts.factors.change(accountId, (own) => (own.oneTimeCode?.failures ? forgiven(own) : undefined));
  noteChange(parts, actor, accountId, 'enable');
}

/** Resolves false if the username is taken, undefined if the id is. */
export async function addUser(parts: ActsParts, actor: Actor, user: NewUser): Promise<boolean | undefined> {
  const isAdded = await parts.storedUsers.add(user);
  if (isAdded) noteChange(parts, actor, user.id, 'add');
  return isAdded;
}

type NewPassword = Readonly<{
  accountId: string;
  passwordHash: string;
  /** The user's `validAfter` with the old password. */
  since?: number;
  /** Set for an invitation: the user isn't notified. */
  isFirst?: boolean;
  /** Keeps one session, before apps are notified that the others have ended. */
  keep?: (user: User) => Promise<void>;
}>;

/** Sets a password, and ends every session and token. Resolves undefined if the user is gone, or has another password by now. */
export function setPassword(parts: ActsParts, actor: Actor, password: NewPassword) {
  const { accountId, passwordHash, since, isFirst = false, keep } = password;
  return parts.userEvents.around(newUserEvent(accountId, 'ended'), async () => {
    const user = await parts.storedUsers.setPassword(
      accountId,
      passwordHash,
      nextSecond(parts.storeNow),
      since,
    );
    if (user === undefined) return undefined;
    noteChange(parts, actor, accountId, 'password');
    await keep?.(user);
    if (!isFirst) await noteInActivity(parts, actor, accountId, { what: 'password_changed' });
    return user;
  });
}

type NewGranted = Readonly<{
  to: Parameters<StoredUsers['setGranted']>[1];
  /** The apps that the user may no longer use. */
  left: readonly string[];
}>;

/** Resolves undefined if the user no longer exists. */
export async function setGranted(
  parts: ActsParts,
  actor: Actor,
  accountId: string,
  { to, left }: NewGranted,
): Promise<User | undefined> {
  const change = async () => {
    const user = await parts.storedUsers.setGranted(accountId, to);
    if (user !== undefined) noteChange(parts, actor, accountId, 'set');
    return user;
  };
  return left.length === 0
    ? change()
    : parts.userEvents.around(newUserEvent(accountId, 'left', left), change);
}

type NewEmail = Readonly<{ from: unknown; to: string }>;

/** Sets an address that the user has verified. Resolves undefined if it already was, or `from` is no longer the user's address. */
export async function setEmail(parts: ActsParts, actor: Actor, accountId: string, { from, to }: NewEmail) {
  const user = await parts.storedUsers.setGranted(accountId, ({ groups, claims }) =>
    claims['email'] !== from || (from === to && claims['email_verified'] === true)
      ? undefined
      : { groups, claims: { ...claims, email: to, email_verified: true } },
  );
  if (user !== undefined) noteChange(parts, actor, accountId, 'email');
  return user;
}

/** The id is never used again. Resolves false if the user no longer exists. */
export function deleteUser(parts: ActsParts, actor: Actor, accountId: string): Promise<boolean> {
  return parts.userEvents.around(newUserEvent(accountId, 'deleted'), async () => {
    if (!(await parts.storedUsers.remove(accountId))) return false;
    await parts.factors.remove(accountId);
    // For the case that the file has this ID later.
    await voidAll(parts, accountId, { lastSignIn: undefined });
    noteChange(parts, actor, accountId, 'delete');
    return true;
  });
}

type NewLink = Readonly<{
  links: Pick<OneTimeLinks, 'create'>;
  link: OneTimeLink;
  seconds: number;
}>;

/** Resolves the token of the link. */
export async function makeLink(
  parts: ActsParts,
  actor: Actor,
  { links, link, seconds }: NewLink,
): Promise<string> {
  const token = await links.create(link, seconds);
  noteChange(parts, actor, link.accountId, link.purpose === 'factors' ? 'enrol' : link.purpose);
  // An invitation is the first message to its user.
  if (link.purpose !== 'invite') await notify(parts, { accountId: link.accountId, what: 'link_made' });
  return token;
}
