// The second step: after the password, before there is any session, or in a session that proved less than the app requires.
import type { Context } from 'koa';
import type { Destination } from '../../oidc/interactions.ts';
import type { OpenInteraction } from '../../oidc/open-interaction.ts';
import { TooManyRequests } from '../../limits/limits.ts';
import { clientAddressOf, originOf } from '../../observability/audit.ts';
import { untilUnchanged } from '../../store/documents.ts';
import { type CollectionWrite, StoreUnavailable } from '../../store/store.ts';
import { noteInActivity } from '../../users/acts.ts';
import type { User } from '../../users/user.ts';
import { amrOf, type Proof, withProof } from './proofs.ts';
import { type Factors, hasSecondFactor } from '../../users/factors.ts';
import type { FailedCodes, TypedCode } from './prove-code.ts';
import type { PageModels } from '../../views/models.ts';
import { actorOf } from '../../interaction/actor.ts';
import type { Form } from '../../interaction/form.ts';
import type { PendingSignIn } from '../../interaction/pending-sign-in.ts';
import { type Host, secondsOf } from '../../interaction/host.ts';
import type { SecondFactors } from './second-factors.ts';
import { tidyUp } from '../../interaction/follow-link.ts';

type SecondStepError = NonNullable<PageModels['second-step']['error']>;

export type Pending = Readonly<{
  account: User;
  factors: Factors;
  /** Undefined: they are signed in, and the app requires more. */
  passwordStep: PendingSignIn | undefined;
}>;

/** The page is shown again. */
export type Refused = Readonly<{ refused: SecondStepError; retryAfterSeconds?: number | undefined }>;
export type Stepped = { readonly destination: Destination } | Refused;

export const neededOf = ({ needed }: OpenInteraction) => (needed === 'passkey' ? needed : 'second_factor');

export const secondStepBinding = (uid: string) => `second step:${uid}`;

type Method = TypedCode['method'] | 'passkey';
type Proven = Readonly<{ proof: Proof; factors: Factors; spends?: CollectionWrite | undefined }>;

export type SecondStep = ReturnType<typeof createSecondStep>;

type Step = Readonly<{ ctx: Context; interaction: OpenInteraction; pending: Pending }>;

function whoOf({ ctx, interaction, pending }: Step) {
  const { clientId } = interaction.settings;
  return { ...originOf(ctx.state), client_id: clientId, account_id: pending.account.id };
}

/** `reason`: why it failed. */
function record({ audit }: Host, step: Step, method: Method, reason?: string): void {
  const outcome = reason === undefined ? 'success' : 'failure';
  audit.record('second_factor', outcome, { ...whoOf(step), method, reason });
}

async function finish(
  host: Host,
  { pendingSignIns }: SecondFactors,
  step: Step,
  [method, { proof, factors, spends }]: readonly [Method, Proven],
): Promise<Stepped> {
  const { interactions, limits, trustedBrowsers, cookie, audit } = host;
  const { ctx, interaction, pending } = step;
  const { account, passwordStep } = pending;
  const amr = passwordStep === undefined ? withProof(interaction.amr, proof) : amrOf(['password', proof]);
  const proved = { amr, factorAt: secondsOf(host), sessionsSince: factors.sessionsSince };
  const device = cookie.read(ctx);
  const login = passwordStep && { accountId: account.id, ...passwordStep.issued, proved, device };
  const destination = login
    ? await interactions.finishLogin(ctx, interaction, login, spends)
    : await interactions.finishStepUp(ctx, interaction, proved, spends);
  record(host, step, method);
  if (destination === 'gone' || passwordStep === undefined) return { destination };
  cookie.write(ctx, trustedBrowsers.renew(device, account.id));
  await tidyUp(limits.finishSignIn(passwordStep.attempt), pendingSignIns.end(interaction.uid));
  audit.record('sign_in', 'success', whoOf(step));
  return { destination };
}

/** Resolves the error for the page. Notifies the user of guesses, because the guesser knows the password. */
async function fail(
  host: Host,
  step: Step,
  method: TypedCode['method'],
  failed: FailedCodes | undefined,
): Promise<SecondStepError> {
  const { failures: times, isLocked = false, isNews = false } = failed ?? {};
  record(host, step, method, isLocked ? 'locked' : 'wrong');
  if (isLocked && isNews)
    host.audit.record('account_lock', 'failure', { ...whoOf(step), method, reason: 'locked', times });
  if (isNews)
    await noteInActivity(host, actorOf(step.ctx), step.pending.account.id, { what: 'codes_failed' });
  if (method === 'recovery_code') return 'wrong_recovery_code';
  return isLocked ? 'codes_locked' : 'wrong_code';
}

function createCountedAttempt(host: Host, second: SecondFactors) {
  const { interactions, limits } = host;

  /** Counts each attempt before its check. One that succeeds, or can't be checked, is taken back. `device`: see limits.takeCode. */
  return async function attempt(
    step: Step,
    [method, device]: readonly [Method, string | undefined],
    prove: () => Promise<Stepped>,
  ): Promise<Stepped> {
    const { ctx, interaction, pending } = step;
    const address = clientAddressOf(ctx);
    const accountId = pending.account.id;
    try {
      const takeBack = await limits.takeCode({ accountId, address, device, interaction: interaction.uid });
      if (takeBack === undefined) {
        record(host, step, method, 'too_many_attempts');
        await second.pendingSignIns.end(interaction.uid);
        return { destination: await interactions.deny(ctx, interaction, 'too many wrong codes') };
      }
      const stepped = await prove().catch((error: unknown) => {
        takeBack();
        throw error;
      });
      if ('destination' in stepped) takeBack();
      return stepped;
    } catch (error) {
      const refused = refusedBy(error, method);
      record(host, step, method, refused === 'maybe_used' ? 'unconfirmed' : refused);
      const { retryAfterSeconds } = error as TooManyRequests | StoreUnavailable;
      return { refused, retryAfterSeconds };
    }
  };
}

export function createSecondStep(host: Host, second: SecondFactors) {
  const { accounts, trustedBrowsers, cookie } = host;
  const attempt = createCountedAttempt(host, second);

  return {
    /** Undefined: no user is at the second step, or all sessions of the user have ended meanwhile. */
    async pendingOf({ uid, prompt, accountId, issued }: OpenInteraction): Promise<Pending | undefined> {
      const passwordStep = await second.pendingSignIns.find(uid);
      const isStepUp = passwordStep === undefined && prompt === 'second_factor';
      const [id, since] = isStepUp ? [accountId, issued] : [passwordStep?.accountId, passwordStep?.issued];
      if (id === undefined || since === undefined) return undefined;
      const [account, factors] = await Promise.all([accounts.findLive(id, since), host.factors.get(id)]);
      // A user whose factors were all removed signs in with the password.
      const isLeft = passwordStep === undefined || hasSecondFactor(factors);
      return account && isLeft ? { account, factors, passwordStep } : undefined;
    },

    async proveCode(step: Step, form: Form): Promise<Stepped> {
      const { ctx, interaction, pending } = step;
      const { id: accountId } = pending.account;
      const recovery = form.field('recovery_code');
      const isRecovery = recovery !== '';
      const method = isRecovery ? 'recovery_code' : 'one_time_code';
      const address = clientAddressOf(ctx);
      const trusted = trustedBrowsers.find(cookie.read(ctx), accountId);
      // Recovery codes can't be guessed, so attempts from other addresses don't block the user's own.
      const device = isRecovery ? `recovery code\n${address}` : trusted;
      if (pending.passwordStep === undefined && interaction.needed === 'passkey') {
        record(host, step, method, 'passkey_required');
        return { refused: 'passkey_required' };
      }
      const typed = isRecovery ? recovery : form.field('code');
      const code = { accountId, method, typed, isTrusted: trusted !== undefined } as const;
      return attempt(step, [method, device], async () => {
        const stepped = await untilUnchanged(async () => {
          const proved = await second.proveCode(code);
          const isProved = proved !== undefined && 'proof' in proved;
          return isProved ? finish(host, second, step, [method, proved]) : { failed: proved };
        });
        if ('failed' in stepped) return { refused: await fail(host, step, method, stepped.failed) };
        if (isRecovery) await noteInActivity(host, actorOf(ctx), accountId, { what: 'recovery_code_used' });
        return stepped;
      });
    },

    async provePasskey(step: Step, form: Form): Promise<Stepped> {
      const { ctx, interaction, pending } = step;
      // Like recovery codes, passkeys can't be guessed.
      return attempt(step, ['passkey', `passkey\n${clientAddressOf(ctx)}`], async () => {
        const result = await second.passkeys?.authenticate({
          binding: secondStepBinding(interaction.uid),
          response: form.field('response'),
          accountId: pending.account.id,
          needed: pending.passwordStep === undefined ? interaction.needed : 'second_factor',
        });
        if (result === undefined || 'refused' in result) {
          record(host, step, 'passkey', result?.refused ?? 'unknown');
          return { refused: 'passkey_refused' };
        }
        return finish(host, second, step, ['passkey', result]);
      });
    },
  };
}

/** An unconfirmed write may have used up a code, but never a passkey. */
function refusedBy(error: unknown, method: Method): 'maybe_used' | 'too_many_attempts' {
  if (error instanceof StoreUnavailable && error.mayBeDone && method !== 'passkey') return 'maybe_used';
  if (error instanceof TooManyRequests) return 'too_many_attempts';
  throw error;
}
