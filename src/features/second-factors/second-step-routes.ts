// The forms of the second step, and of the notices that a user reads before they continue.
import type { Context } from 'koa';
import { answerAgain, expired, continueTo } from '../../interaction/continue-to.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import type { Opened } from '../../interaction/open.ts';
import type { PendingSignIns, SignInPages } from '../../interaction/pending-sign-in.ts';
import { type OpenInteraction, PROMPTS } from '../../oidc/open-interaction.ts';
import { addEnrolRoute } from './enrol-route.ts';
import { afterReading, noticesFor } from './notices.ts';
import { createPasskeyAttempt, PASSKEY_ALONE } from './passkey-sign-in.ts';
import type { SecondFactors } from './second-factors.ts';
import { createSecondStep, type Pending, type Stepped } from './second-step.ts';
import { CODE_STEP, createShowSecondStep, PASSKEY_STEP } from './show-second-step.ts';

export function addSecondStepRoutes(
  host: Host,
  second: SecondFactors,
  { router, open, show: pages }: SignInPages,
): PendingSignIns {
  const { interactions, factors } = host;
  const show = createShowSecondStep(host, second, pages);
  const step = createSecondStep(host, second);
  const attempt = createPasskeyAttempt(host, second.passkeys, pages);
  const showEnrol = addEnrolRoute(host, second, step, { router, open, show: pages });

  function answer(ctx: Context, interaction: OpenInteraction, pending: Pending, stepped: Stepped): void {
    if ('destination' in stepped) return continueTo(ctx, interaction, stepped.destination);
    const { refused, retryAfterSeconds } = stepped;
    show.refused(ctx, interaction, pending, stepped);
    const status = refused === 'codes_locked' ? 403 : retryAfterSeconds === undefined ? 401 : 429;
    answerAgain(ctx, refused === 'maybe_used' ? 503 : status, retryAfterSeconds);
  }

  async function prove(
    ctx: Context,
    { form, interaction }: Opened,
    proof: 'proveCode' | 'provePasskey',
  ): Promise<void> {
    // Accepted in any prompt, because another user may have started to sign in.
    const pending = await step.pendingOf(interaction);
    // The password was entered too long ago, or the user's sessions have ended since.
    if (pending === undefined) return continueTo(ctx, interaction, { url: interaction.pageUrl });
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
    // Notices that arrived while the page was open stay. Views of earlier versions don't send `until`.
    const until = Number(form.field('until') || Infinity);
    const read = { session, provedAt: Math.max(issued?.at ?? Infinity, factorAt), until };
    await factors.change(accountId, ({ notices }) => ({ notices: afterReading(notices, read) }));
    continueTo(ctx, interaction, await interactions.finishNotice(ctx, interaction));
  });

  async function showPending(ctx: Context, interaction: OpenInteraction): Promise<boolean> {
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
  }

  return { begin: (uid, signIn) => second.pendingSignIns.begin(uid, signIn), show: showPending };
}
