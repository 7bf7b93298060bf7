// What following a one-time link does, by its purpose. The answer is judged first, so that one that is refused uses nothing up.
import type { Context } from 'koa';
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import type { PersonSessions } from '../oidc/person-sessions.ts';
import type { Clock } from '../store/store.ts';
import type { Account } from '../users/accounts.ts';
import type { Enrolment, EnrolmentFault } from '../users/enrolment.ts';
import { type FactorStore, hasSecondFactor } from '../users/factors.ts';
import type { MakePassword } from '../users/new-passwords.ts';
import { type OneTimeLink, oneTimeLinkUrl, type OneTimeLinks } from '../users/one-time-links.ts';
import type { PasswordFault } from '../users/password-rules.ts';
import { enrolmentAnswerOf, recordEnrolment } from './enrolment-form.ts';
import type { Form } from './form.ts';
import type { PagesParts } from './parts.ts';
import type { Tell } from './tell.ts';

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
  readonly limits: Pick<Limits, 'takeDeadLink'>;
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

export function createFollowLink(parts: FollowLinkParts) {
  const { config, links, people, makePassword, storeNow, sessions, secondFactors, audit, tell } = parts;
  // An address without the token.
  const done = ({ purpose }: OneTimeLink) => ({
    destination: `${config.issuer}/interaction/done/${purpose}`,
  });

  async function mayAddFirst(accountId: string): Promise<boolean> {
    if (secondFactors === undefined) return false;
    const { signIn, factors } = secondFactors;
    const isOn = signIn.passkeys || signIn.oneTimeCodes;
    return isOn && !hasSecondFactor(await factors.get(accountId));
  }

  async function setPassword(
    ctx: Context,
    { token, link, account }: OpenLink,
    form: Form,
  ): Promise<Followed> {
    const password = form.field('password');
    if (password !== form.field('again')) return { fault: 'different' };
    const [by, address] = [linkBinding(token), String(ctx.state['clientAddress'])];
    const made = await makePassword({ password, username: account.username, by, address });
    if ('fault' in made) return { fault: made.fault };
    if (!(await links.use(token, link))) return { dead: 'used' };
    const { accountId, passwordSince } = link;
    const nextSecond = Math.floor(storeNow() / 1000) + 1;
    const changed = await people.setPassword(accountId, made.passwordHash, nextSecond, passwordSince);
    if (changed === undefined) return { dead: 'ended' };
    await parts.endVoid(accountId);
    await tell?.(ctx, accountId, 'password_changed');
    if (link.purpose !== 'invite' || !(await mayAddFirst(accountId))) return done(link);
    const next = { ...link, purpose: 'factors', passwordSince: changed.validAfter } as const;
    const nextToken = await links.create(next, NEXT_LINK_SECONDS);
    return { destination: oneTimeLinkUrl(config.issuer, nextToken) };
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
    if (typeof checked !== 'string' && !(await links.use(token, link))) return { dead: 'used' };
    const enrolled = typeof checked === 'string' ? checked : await checked();
    recordEnrolment(audit, ctx, form, { account_id: id, enrolled });
    if (enrolled === 'not_first') return { dead: 'ended' };
    if (typeof enrolled === 'string') return { fault: enrolled };
    const { factors } = enrolled;
    await tell?.(ctx, account.id, 'factor_added');
    // The session of this browser goes on, as strong as it was; those of others end.
    const session = await sessions.find(ctx);
    if (session?.accountId === account.id) {
      await sessions.update(ctx, { sessionsSince: factors.sessionsSince });
    }
    return done(link);
  }

  return async function followLink(ctx: Context, opened: OpenLink, form: Form): Promise<Followed> {
    const { token, link } = opened;
    const { purpose } = link;
    if (purpose === 'trust') return (await links.use(token, link)) ? done(link) : { dead: 'used' };
    const isByPasskey = purpose === 'invite' && form.field('response') !== '';
    if (purpose !== 'factors' && !isByPasskey) return setPassword(ctx, opened, form);
    return secondFactors === undefined ? { dead: 'ended' } : addFactor(ctx, opened, form, secondFactors);
  };
}
