// The forms of the second step, and of what a user reads before they go on.
import type { Context } from 'koa';
import type Router from 'koa-router';
import { type OpenInteraction, PROMPTS } from '../oidc/open-interaction.ts';
import { afterReading, noticesFor } from '../users/notices.ts';
import { addEnrolRoute } from './enrol-route.ts';
import { answerAgain, expired, goOn } from './go-on.ts';
import { type Host, type SecondFactors, secondsOf } from './host.ts';
import type { Open, Opened } from './open.ts';
import { createPasskeyAttempt } from './passkey-attempt.ts';
import { createSecondStep, type Pending, type Stepped } from './second-step.ts';
import { PASSKEY_ALONE, type Show } from './show.ts';
import { CODE_STEP, createShowSecondStep, PASSKEY_STEP } from './show-second-step.ts';

/** Resolves whether a page was shown: somebody is at their second step, or has something to read. */
type ShowPending = (ctx: Context, interaction: OpenInteraction) => Promise<boolean>;

export function addSecondStepRoutes(
  router: Router,
  host: Host,
  second: SecondFactors,
  { open, show: pages }: { readonly open: Open; readonly show: Show },
): ShowPending {
  const { interactions, factors } = host;
  const show = createShowSecondStep(host, second);
  const step = createSecondStep(host, second);
  const attempt = createPasskeyAttempt(host, second, pages);
  const showEnrol = addEnrolRoute(router, host, second, { step, open, show: pages });

  function answer(ctx: Context, interaction: OpenInteraction, pending: Pending, stepped: Stepped): void {
    if ('destination' in stepped) return goOn(ctx, interaction, stepped.destination);
    const { refused, retryAfterSeconds } = stepped;
    show.refused(ctx, interaction, pending, refused);
    const status = refused === 'codes_locked' ? 403 : retryAfterSeconds === undefined ? 401 : 429;
    answerAgain(ctx, refused === 'maybe_used' ? 503 : status, retryAfterSeconds);
  }

  async function prove(
    ctx: Context,
    { form, interaction }: Opened,
    proof: 'proveCode' | 'provePasskey',
  ): Promise<void> {
    // In any prompt: somebody else may have begun to sign in.
    const pending = await step.pendingOf(interaction);
    // The password was too long ago, or what it stood for has ended.
    if (pending === undefined) return goOn(ctx, interaction, interaction.pageUrl);
    answer(ctx, interaction, pending, await step[proof]({ ctx, interaction, pending }, form));
  }

  router.post('/:uid/code', async (ctx) =>
    prove(ctx, await open.byForm(ctx, PROMPTS, CODE_STEP), 'proveCode'),
  );

  router.post('/:uid/passkey', async (ctx) => {
    const opened = await open.byForm(ctx, PROMPTS, PASSKEY_STEP, PASSKEY_ALONE);
    return opened.step === PASSKEY_STEP ? prove(ctx, opened, 'provePasskey') : attempt(ctx, opened);
  });

  router.post('/:uid/notice', async (ctx) => {
    const { form, interaction } = await open.byForm(ctx, ['notice']);
    const { accountId, session: { uid: session } = {}, issued, factorAt = 0 } = interaction;
    if (accountId === undefined || session === undefined) throw expired(ctx, interaction.client);
    // What came while the page was open stays. Views of earlier versions don't send it.
    const until = Number(form.field('until') || Infinity);
    const read = { session, provedAt: Math.max(issued?.at ?? Infinity, factorAt), until };
    await factors.change(accountId, ({ notices }) => ({ notices: afterReading(notices, read) }));
    goOn(ctx, interaction, await interactions.finishNotice(ctx, interaction));
  });

  return async function showPending(ctx, interaction) {
    const pending = await step.pendingOf(interaction);
    if (pending !== undefined) {
      if (!(await showEnrol(ctx, interaction, pending))) show.pending(ctx, interaction, pending);
      return true;
    }
    if (interaction.prompt !== 'notice') return false;
    const account = await pages.mustBeSignedIn(ctx, interaction);
    const { notices } = await factors.get(account.id);
    const unread = noticesFor(notices, interaction.session?.uid, secondsOf(host));
    show.notice(ctx, interaction, account.username, unread);
    return true;
  };
}
