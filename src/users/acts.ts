// What is done to users, by an operator at the command line, by themselves at a page, or by who has a one-time link: each act once, with
// its record in the audit trail, its line in the user's activity, and the event by which apps and lists hear of it (user-events.ts).
import type { Audit, AuditFields, Origin } from '../observability/audit.ts';
import type { Clock } from '../store/store.ts';
import { type AccountState, type AccountStates, laterThan, nextSecond } from './account-state.ts';
import { type Enrolled, type FactorStore, type Factors, type Method, forgiven } from './factors.ts';
import type { OneTimeLink, OneTimeLinks } from './one-time-links.ts';
import { ONE_TIME_CODES, type Removal, removeFactor } from './remove-factor.ts';
import type { NewUser, StoredUsers } from './stored-users.ts';
import type { User } from './user.ts';
import { type UserEvents, newUserEvent } from './user-events.ts';
import type { Place, SecurityEvent, UserIndex } from './user-index.ts';

/** Who does it. */
export type Actor = Origin & { readonly by: 'command_line' | 'user' | 'link'; readonly place?: Place };

/** What acts are done with. Every act throws StoreUnavailable; a part that is done then has its event. */
type ActsParts = Readonly<{
  states: AccountStates;
  storedUsers: StoredUsers;
  factors: FactorStore;
  userEvents: UserEvents;
  /** Undefined while users can't look. */
  activity: Pick<UserIndex, 'addEvent'> | undefined;
  audit: Audit;
  storeNow: Clock;
}>;

function record(
  { audit }: ActsParts,
  { by, address, request_id }: Actor,
  [event, outcome]: readonly [string, 'success' | 'failure'],
  fields: AuditFields,
): void {
  audit.record(event, outcome, { address, request_id, by, ...fields });
}

const changed = (parts: ActsParts, actor: Actor, accountId: string, action: string) =>
  record(parts, actor, ['account_changed', 'success'], { account_id: accountId, action });

/** What the user finds in their activity. It happened all the same: an error page would deny it. */
export async function noteInActivity(
  { activity }: Pick<ActsParts, 'activity'>,
  { place }: Pick<Actor, 'place'>,
  accountId: string,
  { what, app }: Pick<SecurityEvent, 'what' | 'app'>,
): Promise<void> {
  await activity?.addEvent(accountId, { what, app, place }).catch(() => undefined);
}

const voidAll = (parts: ActsParts, accountId: string, change: Partial<AccountState> = {}) =>
  parts.states.update(accountId, ({ validAfter }) => ({
    ...change,
    validAfter: laterThan(validAfter, parts.storeNow),
  }));

/** What was issued up to now stays void when the user comes back. Resolves since when (epoch seconds). */
function endAll(parts: ActsParts, actor: Actor, accountId: string, change: Partial<AccountState> = {}) {
  return parts.userEvents.around(newUserEvent(accountId, 'ended'), async () => {
    const { validAfter } = await voidAll(parts, accountId, change);
    changed(parts, actor, accountId, change.disabled === true ? 'disable' : 'sign-out');
    await noteInActivity(parts, actor, accountId, { what: 'sessions_ended' });
    return validAfter;
  });
}

export const signOut = (parts: ActsParts, actor: Actor, accountId: string) => endAll(parts, actor, accountId);

export const disable = (parts: ActsParts, actor: Actor, accountId: string) =>
  endAll(parts, actor, accountId, { disabled: true });

/** Failed sign-ins are forgotten. */
export async function enable(parts: ActsParts, actor: Actor, accountId: string): Promise<void> {
  await parts.states.update(accountId, { disabled: false, attemptsSince: parts.storeNow() });
  await parts.factors.change(accountId, (own) => (own.oneTimeCode?.failures ? forgiven(own) : undefined));
  changed(parts, actor, accountId, 'enable');
}

/** False: the login name is taken. */
export async function addUser(parts: ActsParts, actor: Actor, user: NewUser): Promise<boolean> {
  const isAdded = await parts.storedUsers.add(user);
  if (isAdded) changed(parts, actor, user.id, 'add');
  return isAdded;
}

type NewPassword = Readonly<{
  accountId: string;
  passwordHash: string;
  /** The `validAfter` of the user that the old password was of. */
  since?: number;
  /** Keeps one session, before anybody hears that the others have ended. */
  keep?: (user: User) => Promise<void>;
}>;

/** Ends every session and token of the user. Undefined: the user is gone, or has another password since. */
export function setPassword(parts: ActsParts, actor: Actor, password: NewPassword) {
  const { accountId, passwordHash, since, keep } = password;
  return parts.userEvents.around(newUserEvent(accountId, 'ended'), async () => {
    const user = await parts.storedUsers.setPassword(
      accountId,
      passwordHash,
      nextSecond(parts.storeNow),
      since,
    );
    if (user === undefined) return undefined;
    changed(parts, actor, accountId, 'password');
    await keep?.(user);
    await noteInActivity(parts, actor, accountId, { what: 'password_changed' });
    return user;
  });
}

export const notePasswordRefused = (parts: ActsParts, actor: Actor, accountId: string, reason: string) =>
  record(parts, actor, ['account_changed', 'failure'], { account_id: accountId, action: 'password', reason });

type NewGranted = Readonly<{
  to: Parameters<StoredUsers['setGranted']>[1];
  /** The apps that let the user in no more. */
  left: readonly string[];
}>;

/** Groups and claims. Undefined: there is no such user any more. */
export async function setGranted(
  parts: ActsParts,
  actor: Actor,
  accountId: string,
  { to, left }: NewGranted,
): Promise<User | undefined> {
  const change = async () => {
    const user = await parts.storedUsers.setGranted(accountId, to);
    if (user !== undefined) changed(parts, actor, accountId, 'set');
    return user;
  };
  return left.length === 0
    ? change()
    : parts.userEvents.around(newUserEvent(accountId, 'left', left), change);
}

/** The id is never used again. False: there is no such user any more. */
export function deleteUser(parts: ActsParts, actor: Actor, accountId: string): Promise<boolean> {
  return parts.userEvents.around(newUserEvent(accountId, 'deleted'), async () => {
    if (!(await parts.storedUsers.remove(accountId))) return false;
    await parts.factors.remove(accountId);
    changed(parts, actor, accountId, 'delete');
    return true;
  });
}

type NewLink = Readonly<{
  links: Pick<OneTimeLinks, 'create'>;
  link: OneTimeLink;
  /** Until it is dead. */
  seconds: number;
}>;

/** Resolves the token of a one-time link. */
export async function makeLink(
  parts: ActsParts,
  actor: Actor,
  { links, link, seconds }: NewLink,
): Promise<string> {
  const token = await links.create(link, seconds);
  changed(parts, actor, link.accountId, link.purpose === 'factors' ? 'enrol' : link.purpose);
  return token;
}

type FactorNote = Pick<AuditFields, 'client_id' | 'method' | 'reason'> & { readonly action: string };

/** `what`: for the user's activity, where it is done. */
async function noteFactor(
  parts: ActsParts,
  actor: Actor,
  accountId: string,
  [what, note]: readonly [SecurityEvent['what'], FactorNote],
): Promise<void> {
  const outcome = note.reason === undefined ? 'success' : 'failure';
  record(parts, actor, ['factor_changed', outcome], { account_id: accountId, ...note });
  if (outcome === 'success') await noteInActivity(parts, actor, accountId, { what });
}

type Adding = Readonly<{
  accountId: string;
  clientId?: string | undefined;
  method: Method;
}>;

/** `add` resolves what was added, or why nothing was. */
export async function addFactor<Fault extends string>(
  parts: ActsParts,
  actor: Actor,
  { accountId, clientId, method }: Adding,
  add: () => Promise<Enrolled | Fault>,
): Promise<Enrolled | Fault> {
  const enrolled = await add();
  const [what, reason] =
    typeof enrolled === 'string' ? (['factor_added', enrolled] as const) : [enrolled.what];
  const action = what.replace(/^factor_|^authenticator_/, '');
  await noteFactor(parts, actor, accountId, [what, { client_id: clientId, method, action, reason }]);
  return enrolled;
}

/** By the user. As removeFactor of remove-factor.ts. */
export async function removeOwnFactor(
  parts: ActsParts,
  actor: Actor,
  signIn: Parameters<typeof removeFactor>[1],
  removal: Removal,
): Promise<Factors | 'still_needed' | undefined> {
  const { accountId, factorId } = removal;
  const removed = await removeFactor(parts.factors, signIn, removal);
  if (removed === undefined) return undefined;
  const method = factorId === ONE_TIME_CODES ? 'one_time_code' : 'passkey';
  const reason = removed === 'still_needed' ? removed : undefined;
  await noteFactor(parts, actor, accountId, ['factor_removed', { action: 'removed', method, reason }]);
  return removed;
}

type LostFactors = Readonly<{
  accountId: string;
  /** As those of a Removal. */
  factorIds: readonly string[];
  recoveryCodes: boolean;
}>;

/** By an operator, for a user who has lost them. */
export async function clearFactors(parts: ActsParts, actor: Actor, lost: LostFactors): Promise<void> {
  const { accountId, factorIds, recoveryCodes } = lost;
  const at = Math.floor(parts.storeNow() / 1000);
  for (const factorId of factorIds) await removeFactor(parts.factors, undefined, { accountId, factorId, at });
  if (recoveryCodes) await parts.factors.change(accountId, () => ({ recoveryCodes: [] }));
  changed(parts, actor, accountId, 'factors');
  await noteInActivity(parts, actor, accountId, { what: 'factor_removed' });
}

/** What can't be read may have been anything: sessions, tokens and links of before end with it. */
export function clearDamagedFactors(parts: ActsParts, actor: Actor, accountId: string): Promise<void> {
  return parts.userEvents.around(newUserEvent(accountId, 'ended'), async () => {
    await voidAll(parts, accountId);
    await parts.factors.remove(accountId);
    changed(parts, actor, accountId, 'factors');
  });
}

/** `make` resolves undefined for somebody who isn't surely the user. Resolves the codes. */
export async function makeRecoveryCodes(
  parts: ActsParts,
  actor: Actor,
  accountId: string,
  make: () => Promise<readonly string[] | undefined>,
): Promise<readonly string[] | undefined> {
  const codes = await make();
  const reason = codes === undefined ? 'not_yours' : undefined;
  const note = { action: 'made', method: 'recovery_codes', reason };
  await noteFactor(parts, actor, accountId, ['recovery_codes_made', note]);
  return codes;
}

export type EndedSessions = Readonly<{
  userSessions: { readonly end: (accountId: string, uid: string) => Promise<boolean> };
  accountId: string;
  uids: readonly string[];
  /** Undefined: the user's activity says why they ended. */
  what?: 'session_ended' | 'sessions_ended' | undefined;
}>;

/** Those that are there still. */
export async function endSessions(parts: ActsParts, actor: Actor, sessions: EndedSessions): Promise<void> {
  const { userSessions, accountId, uids, what } = sessions;
  let hasEnded = false;
  for (const uid of uids) {
    if (!(await userSessions.end(accountId, uid))) continue;
    record(parts, actor, ['sign_out', 'success'], { account_id: accountId, reason: 'ended_by_the_person' });
    hasEnded = true;
  }
  if (hasEnded && what !== undefined) await noteInActivity(parts, actor, accountId, { what });
}

type Withdrawal = Readonly<{
  grants: { readonly withdraw: (accountId: string, clientId: string) => Promise<boolean> };
  accountId: string;
  clientId: string;
}>;

/** Every token of the app for this user ends. False: there was nothing. */
export async function withdrawApp(
  parts: ActsParts,
  actor: Actor,
  { grants, accountId, clientId }: Withdrawal,
): Promise<boolean> {
  if (!(await grants.withdraw(accountId, clientId))) return false;
  const fields = { account_id: accountId, client_id: clientId, reason: 'withdrawn_by_the_person' };
  record(parts, actor, ['consent_withdrawn', 'success'], fields);
  await noteInActivity(parts, actor, accountId, { what: 'app_withdrawn', app: clientId });
  return true;
}
