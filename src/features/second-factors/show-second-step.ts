// Shows the second step of a sign-in, the page for users without a sufficient factor, and notices.
import type { Context } from 'koa';
import { FACTORS_PATH } from '../../config/endpoint-rows.ts';
import type { Level } from '../../config/sign-in-levels.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import { modelOfUser, type Show } from '../../interaction/show.ts';
import type { OpenInteraction } from '../../oidc/open-interaction.ts';
import { canReach, type Factors, type Notice } from '../../users/factors.ts';
import { passkeyForm } from './passkey-sign-in.ts';
import type { SecondFactors } from './second-factors.ts';
import { neededOf, type Pending, type Refused, secondStepBinding } from './second-step.ts';
import { canProve } from './sign-in-level.ts';

/** The names of the forms in their CSRF tokens. */
export const CODE_STEP = 'code';
export const PASSKEY_STEP = 'passkey';

/** The level that the pending user needs. Before there is a session, any of their factors is sufficient. */
const neededBy = ({ passwordStep }: Pending, interaction: OpenInteraction) =>
  passwordStep === undefined ? neededOf(interaction) : 'second_factor';

function waysOf(signIn: SecondFactors['settings'], own: Factors, needed: Level, at: number) {
  const isForPasskey = needed === 'passkey';
  const keys = { ...own, oneTimeCode: undefined };
  return {
    oneTimeCode: signIn.oneTimeCodes && own.oneTimeCode !== undefined && !isForPasskey,
    recoveryCode: signIn.recoveryCodes > 0 && own.recoveryCodes.length > 0 && !isForPasskey,
    hasPasskey: canReach(signIn, keys, isForPasskey ? needed : 'second_factor', at),
  };
}

export function createShowSecondStep(
  host: Host,
  { settings: signIn, passkeys }: SecondFactors,
  { html }: Show,
) {
  const { config, csrf } = host;

  function showStep(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    { refused: error, retryAfterSeconds }: Partial<Refused> = {},
  ): void {
    const { uid, pageUrl, prompt } = interaction;
    const { factors, account } = pending;
    const needed = neededBy(pending, interaction);
    const { hasPasskey, ...codes } = waysOf(signIn, factors, needed, secondsOf(host));
    const options = hasPasskey
      ? passkeys?.requestOptions(secondStepBinding(uid), { factors, needed })
      : undefined;
    const model = {
      ...modelOfUser(interaction, account.username),
      action: `${pageUrl}/${CODE_STEP}`,
      csrf: csrf.token(uid, CODE_STEP),
      cancelCsrf: csrf.token(uid, prompt),
      ...codes,
      ...(error === 'codes_locked' && { oneTimeCode: false }),
      passkey: passkeyForm(csrf, interaction, PASSKEY_STEP, options),
      error,
      minutes: retryAfterSeconds && Math.ceil(retryAfterSeconds / 60),
    };
    html(ctx, interaction, ['second-step', model]);
  }

  return {
    refused: showStep,

    /** Shows the second step or, if the user has no sufficient factor, whom to ask for one (status 403). */
    pending(ctx: Context, interaction: OpenInteraction, pending: Pending): void {
      const needed = neededBy(pending, interaction);
      if (canProve(signIn, pending.factors, needed, secondsOf(host)))
        return showStep(ctx, interaction, pending);
      const user = modelOfUser(interaction, pending.account.username);
      const token = csrf.token(interaction.uid, interaction.prompt);
      html(ctx, interaction, ['factor-needed', { ...user, csrf: token, needed }]);
      ctx.status = 403;
    },

    notice(ctx: Context, interaction: OpenInteraction, username: string, notices: readonly Notice[]): void {
      const { uid, client, prompt, pageUrl } = interaction;
      const target = { action: `${pageUrl}/notice`, csrf: csrf.token(uid, prompt) };
      const shown = notices.map(toNoticeModel);
      const factorsUrl = `${config.issuer}${FACTORS_PATH}`;
      html(ctx, interaction, [
        'notice',
        { client, ...target, username, notices: shown, until: notices.at(-1)?.at ?? 0, factorsUrl },
      ]);
    },
  };
}

export function toNoticeModel({ what, method, at, left }: Notice) {
  return { what: method === undefined ? what : `${what}.${method}`, at, left };
}
