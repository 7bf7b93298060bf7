// Adds a user's first factor through a one-time link: the form on the link's page, and its submission.
import type { Context } from 'koa';
import { actorOf } from '../../interaction/actor.ts';
import { type FirstFactor, linkBinding, type OpenLink, tidyUp } from '../../interaction/follow-link.ts';
import type { Host } from '../../interaction/host.ts';
import { type Factors, hasSecondFactor } from '../../users/factors.ts';
import { addFromForm, toEnrolmentModel } from './enrolment.ts';
import type { SecondFactors } from './second-factors.ts';

/** Continues this browser's session at its level. Sessions in other browsers end. */
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

/** A user without a password signs in with a passkey alone, so it must verify them. */
const ownerOf = ({ account: { id, username, hasPassword } }: OpenLink) => ({
  id,
  username,
  mustVerifyUser: !hasPassword,
});

export function firstFactor(host: Host, { settings, enrolment }: SecondFactors): FirstFactor {
  const { factors, links } = host;
  return {
    hasMethods: settings.passkeys || settings.oneTimeCodes,
    isMissing: async (accountId) => !hasSecondFactor(await factors.get(accountId)),

    async form(opened, target, { fault, sealed } = {}) {
      const begun = await enrolment.begin(ownerOf(opened), linkBinding(opened.token), sealed);
      // One-time codes need a password.
      const offered = opened.account.hasPassword ? begun : { passkey: begun.passkey };
      return toEnrolmentModel(offered, target, fault);
    },

    async add(ctx, opened, form) {
      const { token, link } = opened;
      const { id, mustVerifyUser } = ownerOf(opened);
      const of = { id, binding: linkBinding(token), isFirst: true, mustVerifyUser };
      const sent = { actor: actorOf(ctx, 'link'), form };
      // A first factor ends the link, so adding it uses the link up.
      const enrolled = await addFromForm(host, enrolment, sent, of, () => links.accept(link));
      if (enrolled === 'not_first' || enrolled === 'ended') return { dead: 'ended' };
      if (typeof enrolled === 'string') return { fault: enrolled };
      await tidyUp(links.use(token), keepSession(host, ctx, { ...enrolled.factors, id }));
      return 'added';
    },
  };
}
