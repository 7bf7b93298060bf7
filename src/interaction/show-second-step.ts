// Shows the second step of a sign-in, what to do without one, and what a user reads before they go on.
import type { Context } from 'koa';
import { FACTORS_PATH } from '../config/endpoint-rows.ts';
import type { Level } from '../config/sign-in-levels.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import { canProve, canReach, type Factors } from '../users/factors.ts';
import type { Notice } from '../users/notices.ts';
import { type Host, type SecondFactors, secondsOf } from './host.ts';
import { type Pending, secondStepBinding, type SecondStepError } from './second-step.ts';
import { toTimeText } from './time-texts.ts';
import { createRender, modelOfUser, passkeyForm } from './show.ts';

/** The steps of the forms, as the CSRF token has them. */
export const CODE_STEP = 'code';
export const PASSKEY_STEP = 'passkey';

/** What the pending user can do. Before there is a session any factor of theirs will do. */
const neededBy = ({ half }: Pending, interaction: OpenInteraction) =>
  half === undefined ? neededOf(interaction) : 'second_factor';

/** What the app needs, of somebody who is signed in. */
export const neededOf = ({ needed }: OpenInteraction) => (needed === 'passkey' ? needed : 'second_factor');

function waysOf(signIn: SecondFactors['settings'], own: Factors, needed: Level, at: number) {
  const isForPasskey = needed === 'passkey';
  const keys = { ...own, oneTimeCode: undefined };
  return {
    oneTimeCode: signIn.oneTimeCodes && own.oneTimeCode !== undefined && !isForPasskey,
    recoveryCode: signIn.recoveryCodes > 0 && own.recoveryCodes.length > 0 && !isForPasskey,
    hasPasskey: canReach(signIn, keys, isForPasskey ? needed : 'second_factor', at),
  };
}

export function createShowSecondStep(host: Host, { settings: signIn, passkeys }: SecondFactors) {
  const { config, pages, csrf } = host;
  const { html, localeOf } = createRender(pages);

  function showStep(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    error?: SecondStepError,
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
    };
    html(ctx, interaction, ['second-step', model]);
  }

  return {
    /** The second step again. */
    refused: showStep,

    /** The second step, or where the user has none that will do, whom to ask for one (status 403). */
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
      const locale = localeOf(ctx, interaction);
      const target = { action: `${pageUrl}/notice`, csrf: csrf.token(uid, prompt) };
      const shown = notices.map((one) => toNoticeModel(one, locale));
      const factorsUrl = `${config.issuer}${FACTORS_PATH}`;
      html(ctx, interaction, [
        'notice',
        { client, ...target, username, notices: shown, until: notices.at(-1)?.at ?? 0, factorsUrl },
      ]);
    },
  };
}

export function toNoticeModel({ what, method, at, left }: Notice, locale: string) {
  return { what: method === undefined ? what : `${what}.${method}`, at: toTimeText(at, locale), left };
}
