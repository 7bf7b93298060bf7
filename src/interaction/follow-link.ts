// Follows a one-time link, by its purpose. The form is checked first, so that a refused one doesn't use up the link.
import type { Context } from 'koa';
import { clientAddressOf } from '../observability/audit.ts';
import { ifUnavailable } from '../store/store.ts';
import { setEmail, setPassword } from '../users/acts.ts';
import { type OneTimeLink, oneTimeLinkUrl } from '../users/one-time-links.ts';
import type { PasswordFault } from '../users/password-rules.ts';
import { actorOf } from './actor.ts';
import type { User } from '../users/user.ts';
import type { EnrolmentModel } from '../views/shared-models.ts';
import type { Form } from './form.ts';
import type { Host } from './host.ts';

/** Lifetime of the link that follows an invitation. */
const NEXT_LINK_SECONDS = 15 * 60;

export type OpenLink = Readonly<{ token: string; link: OneTimeLink; account: User }>;
type FactorFault = 'wrong_code' | 'passkey_refused';
export type LinkFault = PasswordFault | 'different' | FactorFault;

type Failed = { readonly fault: LinkFault } | { readonly dead: 'used' | 'ended' };

/** `fault`: the form is shown again. `dead`: why the link doesn't work any more. */
type Followed = Failed | { readonly destination: string };

/** Adds the first factor of a user through a link. */
export type FirstFactor = Readonly<{
  hasMethods: boolean;
  isMissing: (accountId: string) => Promise<boolean>;
  /** `sealed`: the field of the form with the wrong code. */
  form: (
    opened: OpenLink,
    target: Readonly<{ action: string; csrf: string }>,
    refused?: Readonly<{ fault?: FactorFault | undefined; sealed?: string | undefined }>,
  ) => Promise<EnrolmentModel>;
  /** Uses the link up. */
  add: (ctx: Context, opened: OpenLink, form: Form) => Promise<Failed | 'added'>;
}>;

export const linkBinding = (token: string) => `link:${token}`;

/** The page after the link, at a URL without the token. */
const done = ({ config }: Host, { purpose }: OneTimeLink) => ({
  destination: `${config.issuer}/interaction/done/${purpose}`,
});

/** Waits for the work after a success: an outage of the store must not turn the success into a failure. */
export const tidyUp = (...work: readonly Promise<unknown>[]) =>
  Promise.all(work.map((one) => one.catch(ifUnavailable)));

export function createFollowLink(host: Host, firstFactor: FirstFactor | undefined) {
  const { config, links, makePassword } = host;

  /** Resolves the page to which a user goes after a new password. */
  async function nextStep(link: OneTimeLink, { id, validAfter }: User) {
    const isOpen = link.purpose === 'invite' && firstFactor?.hasMethods === true;
    if (!isOpen || !(await firstFactor.isMissing(id))) return done(host, link);
    const next = { ...link, purpose: 'factors', passwordSince: validAfter } as const;
    return { destination: oneTimeLinkUrl(config.issuer, await links.create(next, NEXT_LINK_SECONDS)) };
  }

  async function choosePassword(
    ctx: Context,
    { token, link, account }: OpenLink,
    form: Form,
  ): Promise<Followed> {
    const password = form.field('password');
    if (password !== form.field('again')) return { fault: 'different' };
    const [by, address] = [linkBinding(token), clientAddressOf(ctx)];
    const made = await makePassword({ password, owner: account, by, address });
    if ('fault' in made) return { fault: made.fault };
    const { accountId, passwordSince: since, mailedTo: to = '' } = link;
    if (!(await links.accept(link))) return { dead: 'ended' };
    // A new password ends the link, so this uses it up.
    const { passwordHash } = made;
    const changed = await setPassword(host, actorOf(ctx, 'link'), {
      accountId,
      passwordHash,
      since,
      isFirst: link.purpose === 'invite',
    });
    if (changed === undefined) return { dead: 'used' };
    let followed: Followed = done(host, link);
    await tidyUp(
      links.use(token),
      setEmail(host, actorOf(ctx, 'link'), accountId, { from: to, to }),
      nextStep(link, changed).then((next) => (followed = next)),
    );
    return followed;
  }

  return async function followLink(ctx: Context, opened: OpenLink, form: Form): Promise<Followed> {
    const { purpose } = opened.link;
    const isByPasskey = purpose === 'invite' && form.field('response') !== '';
    if (purpose !== 'factors' && !isByPasskey) return choosePassword(ctx, opened, form);
    const added = (await firstFactor?.add(ctx, opened, form)) ?? ({ dead: 'ended' } as const);
    return added === 'added' ? done(host, opened.link) : added;
  };
}
