// A user without the factor that an app requires adds it during the sign-in. This needs `enrolment: self` or a second factor that they
// have just used.
import type { Context } from 'koa';
import type { OpenInteraction } from '../../oidc/open-interaction.ts';
import { isRecovered, withProof } from './proofs.ts';
import { hasSecondFactor } from '../../users/factors.ts';
import { canProve } from './sign-in-level.ts';
import { isFresh } from '../../interaction/account-page.ts';
import { mayChangeFactors } from './factor-acts.ts';
import type { EnrolmentModel } from '../../views/shared-models.ts';
import { actorOf } from '../../interaction/actor.ts';
import { addFromForm, toEnrolmentModel } from './enrolment.ts';
import { continueTo } from '../../interaction/continue-to.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import type { SignInPages } from '../../interaction/pending-sign-in.ts';
import type { SecondFactors } from './second-factors.ts';
import { type Pending, type SecondStep, neededOf } from './second-step.ts';
import { modelOfUser } from '../../interaction/show.ts';

const STEP = 'enrol';

const bindingOf = ({ uid }: OpenInteraction) => `enrol:${uid}`;

/** Whether the user may add a sufficient factor here. */
function isOpen(
  signIn: SecondFactors['settings'],
  interaction: OpenInteraction,
  { passwordStep, factors }: Pending,
  at: number,
): boolean {
  const needed = neededOf(interaction);
  if (passwordStep !== undefined || canProve(signIn, factors, needed, at)) return false;
  // A passkey that is added after a recovery doesn't count yet.
  if (needed === 'passkey' && isRecovered(interaction.amr)) return false;
  const isOn = signIn.passkeys || (signIn.oneTimeCodes && needed !== 'passkey');
  return isOn && (signIn.enrolment === 'self' || hasSecondFactor(factors));
}

/** Resolves whether a page was shown: the form for a factor, or the sign-in page if the sign-in is too old for it. */
type ShowEnrol = (ctx: Context, interaction: OpenInteraction, pending: Pending) => Promise<boolean>;

export function addEnrolRoute(
  host: Host,
  second: SecondFactors,
  step: SecondStep,
  { router, open, show }: SignInPages,
): ShowEnrol {
  const { settings: signIn, enrolment } = second;
  const { interactions, csrf } = host;
  const seconds = () => secondsOf(host);
  const mayAdd = (interaction: OpenInteraction, { factors }: Pending): boolean =>
    isFresh(interaction, factors, seconds()) && mayChangeFactors(signIn, interaction, factors, seconds());

  async function showForm(
    ctx: Context,
    interaction: OpenInteraction,
    { account: { id, username } }: Pending,
    refused?: Readonly<{ error: EnrolmentModel['error']; sealed: string }>,
  ): Promise<void> {
    const { uid, pageUrl, prompt } = interaction;
    const needed = neededOf(interaction);
    const of = { id, username, mustVerifyUser: needed === 'passkey' };
    const begun = await enrolment.begin(of, bindingOf(interaction), refused?.sealed);
    const wanted = needed === 'passkey' ? { passkey: begun.passkey } : begun;
    const target = { action: `${pageUrl}/${STEP}`, csrf: csrf.token(uid, STEP) };
    const model = {
      ...modelOfUser(interaction, username),
      cancelCsrf: csrf.token(uid, prompt),
      needed,
      enrolment: toEnrolmentModel(wanted, target, refused?.error),
    } as const;
    show.html(ctx, interaction, ['enrol', model]);
  }

  router.post('/:uid/enrol', async (ctx) => {
    const { form, interaction } = await open.byForm(ctx, ['second_factor'], STEP);
    const pending = await step.pendingOf(interaction);
    const isHere = pending !== undefined && isOpen(signIn, interaction, pending, seconds());
    if (!isHere || !mayAdd(interaction, pending))
      return continueTo(ctx, interaction, { url: interaction.pageUrl });
    const { account, factors } = pending;
    const of = {
      id: account.id,
      binding: bindingOf(interaction),
      isFirst: !hasSecondFactor(factors),
      mustVerifyUser: neededOf(interaction) === 'passkey',
      isRecovered: isRecovered(interaction.amr),
      by: interaction.session?.uid,
    };
    const { clientId } = interaction.settings;
    const enrolled = await addFromForm(host, second.enrolment, { actor: actorOf(ctx), form, clientId }, of);
    if (typeof enrolled === 'string') {
      if (enrolled === 'not_first' || enrolled === 'ended')
        return continueTo(ctx, interaction, { url: interaction.pageUrl });
      await showForm(ctx, interaction, pending, { error: enrolled, sealed: form.field('sealed') });
      ctx.status = 422;
      return undefined;
    }
    const amr = withProof(interaction.amr, enrolled.proof);
    const proved = { amr, factorAt: seconds(), sessionsSince: enrolled.factors.sessionsSince };
    return continueTo(ctx, interaction, await interactions.finishStepUp(ctx, interaction, proved));
  });

  return async function showEnrol(ctx, interaction, pending) {
    if (!isOpen(signIn, interaction, pending, seconds())) return false;
    if (mayAdd(interaction, pending)) await showForm(ctx, interaction, pending);
    else show.login(ctx, interaction, { username: pending.account.username, isOnlyWay: true });
    return true;
  };
}
