// The forms of the second step, and of what a person reads before they go on.
import type { Context } from 'koa';
import type Router from 'koa-router';
import type { Interactions } from '../oidc/interactions.ts';
import { type OpenInteraction, PROMPTS } from '../oidc/open-interaction.ts';
import type { SignInByPasskey } from '../users/passkey-sign-in.ts';
import { afterReading, noticesFor } from '../users/notices.ts';
import { addEnrolRoute, type EnrolRouteParts } from './enrol-route.ts';
import { expired, goOn } from './go-on.ts';
import type { Opened } from './open.ts';
import { createPasskeyAttempt, PASSKEY_ALONE, type PasskeyAttemptParts } from './passkey-attempt.ts';
import { createSecondStep, type Pending, type SecondStepParts, type Stepped } from './second-step.ts';
import type { Show } from './show.ts';
import { CODE_STEP, PASSKEY_STEP, type ShowSecondStep } from './show-second-step.ts';

/** What the file has to say something of. */
export type SecondFactorParts = Omit<SecondStepParts, 'interactions' | 'cookie' | 'audit'> &
  Pick<EnrolRouteParts, 'signIn' | 'enrolment' | 'pages' | 'tell'> & {
    readonly showStep: ShowSecondStep;
    readonly signInByPasskey: SignInByPasskey;
  };

type RoutesParts = SecondFactorParts &
  Omit<PasskeyAttemptParts, 'signIn'> &
  Pick<EnrolRouteParts, 'csrf' | 'open'> & { readonly interactions: Interactions; readonly show: Show };

/** Resolves whether a page was shown: somebody is at their second step, or has something to read. */
type ShowPending = (ctx: Context, interaction: OpenInteraction) => Promise<boolean>;

export function addSecondStepRoutes(router: Router, parts: RoutesParts): ShowPending {
  const { interactions, showStep: show, factors, open, show: pages } = parts;
  const step = createSecondStep(parts);
  const attempt = createPasskeyAttempt({ ...parts, signIn: parts.signInByPasskey });
  const showEnrol = addEnrolRoute(router, { ...parts, step });

  function answer(ctx: Context, interaction: OpenInteraction, pending: Pending, stepped: Stepped): void {
    if ('destination' in stepped) return goOn(ctx, interaction, stepped.destination);
    const { refused, retryAfterSeconds } = stepped;
    show.refused(ctx, interaction, pending, refused);
    if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
    const status = refused === 'codes_locked' ? 403 : 401;
    ctx.status = refused === 'maybe_used' ? 503 : retryAfterSeconds === undefined ? status : 429;
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
    answer(ctx, interaction, pending, await step[proof](ctx, interaction, pending, form));
  }

  router.post('/:uid/code', async (ctx) =>
    prove(ctx, await open.byForm(ctx, PROMPTS, CODE_STEP), 'proveCode'),
  );

  router.post('/:uid/passkey', async (ctx) => {
    const opened = await open.byForm(ctx, PROMPTS, PASSKEY_STEP, PASSKEY_ALONE);
    const { form, interaction } = opened;
    if (opened.step === PASSKEY_STEP) return prove(ctx, opened, 'provePasskey');
    const attempted = await attempt(ctx, interaction, form);
    if (attempted !== 'shown again') goOn(ctx, interaction, attempted.destination);
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
    const account = await pages.signedIn(interaction);
    if (account === undefined) throw expired(ctx, interaction.client);
    const { notices } = await factors.get(account.id);
    const unread = noticesFor(notices, interaction.session?.uid, Math.floor(parts.now() / 1000));
    show.notice(ctx, interaction, account.username, unread);
    return true;
  };
}
