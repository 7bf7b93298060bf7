// What following a one-time link does, by its purpose. The answer is judged first, so that one that is refused uses nothing up.
import type { Context } from 'koa';
import { setPassword } from '../users/acts.ts';
import { type Enrolment, type EnrolmentFault, type Factors, hasSecondFactor } from '../users/factors.ts';
import { type OneTimeLink, oneTimeLinkUrl } from '../users/one-time-links.ts';
import type { PasswordFault } from '../users/password-rules.ts';
import { actorOf } from './actor.ts';
import type { User } from '../users/user.ts';
import { addFromForm } from './enrolment-form.ts';
import type { Form } from './form.ts';
import type { Host } from './host.ts';
import { tidyUp } from './tidy-up.ts';

/** Of the link that an invitation leads on to. */
const NEXT_LINK_SECONDS = 15 * 60;

export type OpenLink = { readonly token: string; readonly link: OneTimeLink; readonly account: User };
export type LinkFault = PasswordFault | 'different' | Exclude<EnrolmentFault, 'not_first'>;

/** `fault`: the form is shown again. `dead`: why the link doesn't work any more. */
type Followed =
  { readonly fault: LinkFault } | { readonly dead: 'used' | 'ended' } | { readonly destination: string };

export const linkBinding = (token: string) => `link:${token}`;

/** An address without the token. */
const done = ({ config }: Host, { purpose }: OneTimeLink) => ({
  destination: `${config.issuer}/interaction/done/${purpose}`,
});

async function mayAddFirst({ config: { signIn }, factors }: Host, accountId: string): Promise<boolean> {
  const isOn = signIn !== undefined && (signIn.passkeys || signIn.oneTimeCodes);
  return isOn && !hasSecondFactor(await factors.get(accountId));
}

/** Where a user goes on to from a new password. */
async function goOn(host: Host, link: OneTimeLink, { id, validAfter }: User) {
  if (link.purpose !== 'invite' || !(await mayAddFirst(host, id))) return done(host, link);
  const next = { ...link, purpose: 'factors', passwordSince: validAfter } as const;
  const token = await host.links.create(next, NEXT_LINK_SECONDS);
  return { destination: oneTimeLinkUrl(host.config.issuer, token) };
}

/** The session of this browser goes on, as strong as it was; those of others end. */
async function keepSession(
  { sessions, records }: Host,
  ctx: Context,
  { id, sessionsSince }: Pick<Factors, 'sessionsSince'> & { readonly id: string },
): Promise<void> {
  const session = await sessions.find(ctx);
  if (session?.accountId !== id) return;
  await sessions.update(ctx, { sessionsSince });
  await records.flush();
}

export function createFollowLink(host: Host) {
  const { links, makePassword, enrolment } = host;

  async function choosePassword(
    ctx: Context,
    { token, link, account }: OpenLink,
    form: Form,
  ): Promise<Followed> {
    const password = form.field('password');
    if (password !== form.field('again')) return { fault: 'different' };
    const [by, address] = [linkBinding(token), String(ctx.state['clientAddress'])];
    const made = await makePassword({ password, owner: account, by, address });
    if ('fault' in made) return { fault: made.fault };
    const { accountId, passwordSince: since } = link;
    if (!(await links.accept(link))) return { dead: 'ended' };
    // With another password the link has ended: so this uses it up.
    const { passwordHash } = made;
    const changed = await setPassword(host, actorOf(ctx, 'link'), { accountId, passwordHash, since });
    if (changed === undefined) return { dead: 'used' };
    let followed: Followed = done(host, link);
    await tidyUp(
      links.use(token),
      goOn(host, link, changed).then((next) => (followed = next)),
    );
    return followed;
  }

  async function addFirstFactor(
    ctx: Context,
    { token, link, account }: OpenLink,
    form: Form,
    adding: Enrolment,
  ): Promise<Followed> {
    const { id, hasPassword } = account;
    const of = { id, binding: linkBinding(token), isFirst: true, mustVerifyUser: !hasPassword };
    // With a first factor the link has ended: so this uses it up.
    const enrolled = await addFromForm(host, adding, { actor: actorOf(ctx, 'link'), form }, of, () =>
      links.accept(link),
    );
    if (enrolled === 'not_first' || enrolled === 'ended') return { dead: 'ended' };
    if (typeof enrolled === 'string') return { fault: enrolled };
    await tidyUp(links.use(token), keepSession(host, ctx, { ...enrolled.factors, id }));
    return done(host, link);
  }

  return async function followLink(ctx: Context, opened: OpenLink, form: Form): Promise<Followed> {
    const { purpose } = opened.link;
    const isByPasskey = purpose === 'invite' && form.field('response') !== '';
    if (purpose !== 'factors' && !isByPasskey) return choosePassword(ctx, opened, form);
    return enrolment === undefined ? { dead: 'ended' } : addFirstFactor(ctx, opened, form, enrolment);
  };
}
