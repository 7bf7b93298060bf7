// What following a one-time link does, by its purpose. The answer is judged first, so that one that is refused uses nothing up.
import type { Context } from 'koa';
import type { Config } from '../config/config.ts';
import type { PersonSessions } from '../oidc/person-sessions.ts';
import type { Clock } from '../store/store.ts';
import type { Account } from '../users/accounts.ts';
import type { Enrolment, EnrolmentFault } from '../users/enrolment.ts';
import { type Factors, type FactorStore, hasSecondFactor } from '../users/factors.ts';
import type { MakePassword } from '../users/new-passwords.ts';
import { type OneTimeLink, oneTimeLinkUrl, type OneTimeLinks } from '../users/one-time-links.ts';
import type { StoredPerson } from '../users/people.ts';
import type { PasswordFault } from '../users/password-rules.ts';
import { enrolmentAnswerOf, recordEnrolment } from './enrolment-form.ts';
import type { Form } from './form.ts';
import type { PagesParts } from './parts.ts';
import type { Tell } from './tell.ts';
import { tidyUp } from './tidy-up.ts';

/** Of the link that an invitation leads on to. */
const NEXT_LINK_SECONDS = 15 * 60;

export type LinkSecondFactors = {
  readonly signIn: NonNullable<Config['signIn']>;
  readonly factors: FactorStore;
  readonly enrolment: Enrolment;
};

export type FollowLinkParts = PagesParts & {
  readonly links: OneTimeLinks;
  readonly makePassword: MakePassword;
  /** As UnitOfWork has it. */
  readonly flush: () => Promise<void>;
  /** Of the store. */
  readonly storeNow: Clock;
  /** As PersonSessions have it. */
  readonly endVoid: PersonSessions['endVoid'];
  /** Undefined where the file says nothing of them. */
  readonly secondFactors: LinkSecondFactors | undefined;
  /** Undefined where people can't look. */
  readonly tell?: Tell | undefined;
};

export type OpenLink = { readonly token: string; readonly link: OneTimeLink; readonly account: Account };
export type LinkFault = PasswordFault | 'different' | EnrolmentFault;

/** `fault`: the form is shown again. `dead`: why the link doesn't work any more. */
export type Followed =
  { readonly fault: LinkFault } | { readonly dead: 'used' | 'ended' } | { readonly destination: string };

export const linkBinding = (token: string) => `link:${token}`;

/** An address without the token. */
const createDone =
  ({ config }: FollowLinkParts) =>
  ({ purpose }: OneTimeLink) => ({ destination: `${config.issuer}/interaction/done/${purpose}` });

/** Where a person goes on to from a new password. */
function createGoOn(parts: FollowLinkParts) {
  const { config, links, secondFactors } = parts;
  const done = createDone(parts);

  async function mayAddFirst(accountId: string): Promise<boolean> {
    if (secondFactors === undefined) return false;
    const { signIn, factors } = secondFactors;
    const isOn = signIn.passkeys || signIn.oneTimeCodes;
    return isOn && !hasSecondFactor(await factors.get(accountId));
  }

  return async function goOn(link: OneTimeLink, { id, validAfter }: StoredPerson) {
    if (link.purpose !== 'invite' || !(await mayAddFirst(id))) return done(link);
    const next = { ...link, purpose: 'factors', passwordSince: validAfter } as const;
    return { destination: oneTimeLinkUrl(config.issuer, await links.create(next, NEXT_LINK_SECONDS)) };
  };
}

/** The session of this browser goes on, as strong as it was; those of others end. */
async function keepSession(
  { sessions, flush }: FollowLinkParts,
  ctx: Context,
  { id, sessionsSince }: Pick<Factors, 'sessionsSince'> & { readonly id: string },
): Promise<void> {
  const session = await sessions.find(ctx);
  if (session?.accountId !== id) return;
  await sessions.update(ctx, { sessionsSince });
  await flush();
}

export function createFollowLink(parts: FollowLinkParts) {
  const { links, people, makePassword, storeNow, secondFactors, audit, tell } = parts;
  const done = createDone(parts);
  const goOn = createGoOn(parts);

  async function setPassword(
    ctx: Context,
    { token, link, account }: OpenLink,
    form: Form,
  ): Promise<Followed> {
    const password = form.field('password');
    if (password !== form.field('again')) return { fault: 'different' };
    const [by, address] = [linkBinding(token), String(ctx.state['clientAddress'])];
    const made = await makePassword({ password, owner: account, by, address });
    if ('fault' in made) return { fault: made.fault };
    const { accountId, passwordSince } = link;
    const nextSecond = Math.floor(storeNow() / 1000) + 1;
    if (!(await links.accept(link))) return { dead: 'ended' };
    // With another password the link has ended: so this uses it up.
    const changed = await people.setPassword(accountId, made.passwordHash, nextSecond, passwordSince);
    if (changed === undefined) return { dead: 'used' };
    let followed: Followed = done(link);
    await tidyUp(
      links.use(token),
      parts.endVoid(accountId),
      Promise.resolve(tell?.(ctx, accountId, 'password_changed')),
      goOn(link, changed).then((next) => (followed = next)),
    );
    return followed;
  }

  async function addFactor(
    ctx: Context,
    { token, link, account }: OpenLink,
    form: Form,
    { enrolment }: LinkSecondFactors,
  ): Promise<Followed> {
    const { id, hasPassword } = account;
    const of = { id, binding: linkBinding(token), isFirst: true, mustVerifyUser: !hasPassword };
    const checked = await enrolment.check(of, enrolmentAnswerOf(form));
    if (typeof checked !== 'string' && !(await links.accept(link))) return { dead: 'ended' };
    // With a first factor the link has ended: so this uses it up.
    const enrolled = typeof checked === 'string' ? checked : await checked();
    recordEnrolment(audit, ctx, form, { account_id: id, enrolled });
    if (enrolled === 'not_first') return { dead: 'ended' };
    if (typeof enrolled === 'string') return { fault: enrolled };
    await tidyUp(
      links.use(token),
      Promise.resolve(tell?.(ctx, id, 'factor_added')),
      keepSession(parts, ctx, { ...enrolled.factors, id }),
    );
    return done(link);
  }

  return async function followLink(ctx: Context, opened: OpenLink, form: Form): Promise<Followed> {
    const { token, link } = opened;
    const { purpose } = link;
    if (purpose === 'trust')
      return (await links.accept(link)) && (await links.use(token)) ? done(link) : { dead: 'used' };
    const isByPasskey = purpose === 'invite' && form.field('response') !== '';
    if (purpose !== 'factors' && !isByPasskey) return setPassword(ctx, opened, form);
    return secondFactors === undefined ? { dead: 'ended' } : addFactor(ctx, opened, form, secondFactors);
  };
}
