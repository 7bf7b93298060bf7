// The forms of the second step, and of the notices that a user reads before they continue.
import type { Context } from 'koa';
import { type OpenInteraction, PROMPTS } from '../../oidc/open-interaction.ts';
import { afterReading, noticesFor } from './notices.ts';
import { canProve } from './sign-in-level.ts';
import { addEnrolRoute } from './enrol-route.ts';
import { answerAgain, expired, goOn } from '../../interaction/go-on.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import type { SecondFactors } from './second-factors.ts';
import type { Opened } from '../../interaction/open.ts';
import {
  type Pending,
  type Refused,
  type Stepped,
  createSecondStep,
  neededOf,
  secondStepBinding,
} from './second-step.ts';
import type { PendingSignIns, SignInPages } from '../../interaction/pending-sign-in.ts';
import { FACTORS_PATH } from '../../config/endpoint-rows.ts';
import type { Level } from '../../config/sign-in-levels.ts';
import { type Factors, canReach, type Notice } from '../../users/factors.ts';
import { type Show, type Way, modelOfUser } from '../../interaction/show.ts';
import type { Csrf } from '../../interaction/csrf.ts';
import { clientAddressOf, originOf } from '../../observability/audit.ts';
import { amrOf } from './proofs.ts';

/** One attempt to sign in with a passkey from the sign-in page: the interaction is finished, or the page is shown again. */
function createPasskeyAttempt(
  { interactions, cookie, audit }: Host,
  { signInByPasskey }: SecondFactors,
  show: Pick<Show, 'login'>,
) {
  return async function attempt(ctx: Context, { interaction, form }: Opened): Promise<void> {
    const { uid, settings } = interaction;
    const of = { ...originOf(ctx.state), client_id: settings.clientId, method: 'passkey' };
    const result = await signInByPasskey({
      binding: signInBinding(uid),
      response: form.field('response'),
      address: clientAddressOf(ctx),
      device: cookie.read(ctx),
    });
    if ('reason' in result) {
      const { accountId, reason, retryAfterSeconds } = result;
      audit.record('sign_in', 'failure', { ...of, account_id: accountId, reason });
      const isLimit = retryAfterSeconds !== undefined;
      show.login(ctx, interaction, {
        username: '',
        error: isLimit ? 'too_many_attempts' : 'passkey_refused',
      });
      return answerAgain(ctx, isLimit ? 429 : 401, retryAfterSeconds);
    }
    const { accountId, at, generation, device, proof, factors } = result;
    cookie.write(ctx, device);
    const proved = { amr: amrOf([proof]), factorAt: at, sessionsSince: factors.sessionsSince };
    const login = { accountId, at, generation, proved, device: cookie.read(ctx) };
    const destination = await interactions.finishLogin(ctx, interaction, login);
    if (destination !== 'gone') audit.record('sign_in', 'success', { ...of, account_id: accountId });
    goOn(ctx, interaction, destination);
  };
}

/** The binding of a sign-in page's challenge. */
const signInBinding = (uid: string) => `sign-in:${uid}`;

/** Names the sign-in page's form in its CSRF token, because another user may be at the second step of the same sign-in. */
const PASSKEY_ALONE = 'passkey alone';

/** Undefined while passkeys are off. `step`: the name of the form in its CSRF token. */
function passkeyForm(
  csrf: Csrf,
  { uid, pageUrl }: OpenInteraction,
  step: string,
  options: string | undefined,
) {
  return options === undefined
    ? undefined
    : { action: `${pageUrl}/passkey`, csrf: csrf.token(uid, step), options };
}

export const passkeyWay =
  ({ csrf }: Host, { passkeys }: SecondFactors): Way =>
  (interaction) => {
    const options = passkeys?.requestOptions(signInBinding(interaction.uid));
    return { passkey: passkeyForm(csrf, interaction, PASSKEY_ALONE, options) };
  };

// Shows the second step of a sign-in, the page for users without a sufficient factor, and notices.

/** The names of the forms in their CSRF tokens. */
const CODE_STEP = 'code';
const PASSKEY_STEP = 'passkey';

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

function createShowSecondStep(host: Host, { settings: signIn, passkeys }: SecondFactors, { html }: Show) {
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
      minutes: retryAfterSeconds === undefined ? undefined : Math.ceil(retryAfterSeconds / 60),
    };
    html(ctx, interaction, ['second-step', model]);
  }

  return {
    /** Shows the second step again. */
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

export function addSecondStepRoutes(
  host: Host,
  second: SecondFactors,
  { router, open, show: pages }: SignInPages,
): PendingSignIns {
  const { interactions, factors } = host;
  const show = createShowSecondStep(host, second, pages);
  const step = createSecondStep(host, second);
  const attempt = createPasskeyAttempt(host, second, pages);
  const showEnrol = addEnrolRoute(host, second, step, { router, open, show: pages });

  function answer(ctx: Context, interaction: OpenInteraction, pending: Pending, stepped: Stepped): void {
    if ('destination' in stepped) return goOn(ctx, interaction, stepped.destination);
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
    if (pending === undefined) return goOn(ctx, interaction, { url: interaction.pageUrl });
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
    goOn(ctx, interaction, await interactions.finishNotice(ctx, interaction));
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
