// The second step: after the password, before there is any session, or in a session that proved less than the app needs.
import type { Context } from 'koa';
import type { Interactions, Proved } from '../oidc/interactions.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import { type Limits, TooManyRequests } from '../limits/limits.ts';
import { type Audit, originOf, type Outcome } from '../observability/audit.ts';
import { untilUnchanged } from '../store/documents.ts';
import { type CollectionWrite, StoreUnavailable } from '../store/store.ts';
import type { Account } from '../users/accounts.ts';
import { amrOf, type Proof, withProof } from '../users/authentication-methods.ts';
import { type Factors, type FactorStore, hasSecondFactor } from '../users/factors.ts';
import type { PasskeyAuthentication } from '../users/passkey-authentication.ts';
import type { FailedCodes, ProveCode, TypedCode } from '../users/second-factor.ts';
import type { TrustedBrowsers } from '../users/trusted-browsers.ts';
import type { PageModels } from '../views/models.ts';
import type { Form } from './form.ts';
import type { PagesParts } from './parts.ts';
import type { HalfSignIn, HalfSignIns } from './half-sign-ins.ts';
import type { Tell } from './tell.ts';
import { tidyUp } from './tidy-up.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';

export type SecondStepError = NonNullable<PageModels['second-step']['error']>;

/** Who is at the second step. */
export type Pending = {
  readonly account: Account;
  readonly factors: Factors;
  /** Undefined: they are signed in. */
  readonly half: HalfSignIn | undefined;
};

/** `destination` undefined: somebody else finished the interaction first. `refused`: the page is shown again. */
export type Stepped =
  | { readonly destination: string | undefined }
  | { readonly refused: SecondStepError; readonly retryAfterSeconds?: number | undefined };

export interface SecondStep {
  /** Undefined: nobody is there, or everything of the person ended meanwhile. */
  pendingOf(interaction: OpenInteraction): Promise<Pending | undefined>;
  proveCode(ctx: Context, interaction: OpenInteraction, pending: Pending, form: Form): Promise<Stepped>;
  provePasskey(ctx: Context, interaction: OpenInteraction, pending: Pending, form: Form): Promise<Stepped>;
}

export type SecondStepParts = Pick<PagesParts, 'accounts' | 'audit' | 'now'> & {
  readonly interactions: Pick<Interactions, 'finishLogin' | 'finishStepUp' | 'deny'>;
  readonly halves: HalfSignIns;
  readonly factors: FactorStore;
  readonly limits: Pick<Limits, 'takeCode' | 'finishSignIn'>;
  readonly proveCode: ProveCode;
  /** Undefined where people can't look. */
  readonly tell?: Tell | undefined;
  readonly passkeys: PasskeyAuthentication | undefined;
  readonly trustedBrowsers: TrustedBrowsers;
  readonly cookie: DeviceCookie;
};

const TOO_MANY = 'too many wrong codes';

/** What the challenge of a second step is bound to. */
export const secondStepBinding = (uid: string) => `second step:${uid}`;

type Proven = {
  readonly proof: Proof;
  /** As it was typed; a passkey has none. */
  readonly method?: TypedCode['method'];
  readonly factors: Factors;
  readonly spends?: CollectionWrite | undefined;
};

function createFinish(parts: SecondStepParts) {
  const { interactions, halves, limits, trustedBrowsers, cookie, audit } = parts;
  const record = createRecord(audit);

  return async function finish(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    { proof, method, factors: own, spends }: Proven,
  ): Promise<Stepped> {
    const { account, half } = pending;
    const amr = half === undefined ? withProof(interaction.amr, proof) : amrOf(['password', proof]);
    const factorAt = Math.floor(parts.now() / 1000);
    const proved: Proved = { amr, factorAt, sessionsSince: own.sessionsSince };
    const destination =
      half === undefined
        ? await interactions.finishStepUp(ctx, interaction, proved, spends)
        : await interactions.finishLogin(
            ctx,
            interaction,
            { accountId: account.id, ...half.issued, proved },
            spends,
          );
    record(ctx, interaction, pending, ['success', method ?? 'passkey']);
    if (destination === undefined || half === undefined) return { destination };
    cookie.write(ctx, trustedBrowsers.renew(cookie.read(ctx), account.id));
    await tidyUp(limits.finishSignIn(half.attempt), halves.end(interaction.uid));
    audit.record('sign_in', 'success', {
      ...originOf(ctx.state),
      client_id: interaction.settings.clientId,
      account_id: account.id,
    });
    return { destination };
  };
}

function createRecord(audit: Audit) {
  return function record(
    ctx: Context,
    { settings: { clientId } }: OpenInteraction,
    { account }: Pending,
    [outcome, method, reason]: readonly [Outcome, string, (string | undefined)?],
  ): void {
    const who = { client_id: clientId, account_id: account.id };
    audit.record('second_factor', outcome, { ...originOf(ctx.state), ...who, method, reason });
  };
}

/** What the page says. The person hears of guesses: they are of somebody with the password. */
function createFail({ audit, tell }: Pick<SecondStepParts, 'audit' | 'tell'>) {
  const record = createRecord(audit);
  return async function fail(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    [method, failed]: readonly [TypedCode['method'], FailedCodes | undefined],
  ): Promise<SecondStepError> {
    const { failures: times, isLocked = false, isNews = false } = failed ?? {};
    record(ctx, interaction, pending, ['failure', method, isLocked ? 'locked' : 'wrong']);
    const who = { ...originOf(ctx.state), account_id: pending.account.id, method };
    if (isLocked && isNews) audit.record('account_lock', 'failure', { ...who, reason: 'locked', times });
    if (isNews) await tell?.(ctx, pending.account.id, 'codes_failed');
    if (method === 'recovery_code') return 'wrong_recovery_code';
    return isLocked ? 'codes_locked' : 'wrong_code';
  };
}

function createPendingOf({ accounts, halves, factors }: SecondStepParts): SecondStep['pendingOf'] {
  return async function pendingOf({ uid, prompt, accountId, issued }) {
    const half = await halves.find(uid);
    const [id, since] =
      half === undefined && prompt === 'second_factor'
        ? [accountId, issued]
        : [half?.accountId, half?.issued];
    if (id === undefined || since === undefined) return undefined;
    const [account, own] = await Promise.all([accounts.findLive(id, since), factors.get(id)]);
    // Who has none any more signs in by the password.
    const isLeft = half === undefined || hasSecondFactor(own);
    return account && isLeft ? { account, factors: own, half } : undefined;
  };
}

function codeIn(form: Form): Pick<TypedCode, 'method' | 'typed'> {
  const recovery = form.field('recovery_code');
  return recovery === ''
    ? { method: 'one_time_code', typed: form.field('code') }
    : { method: 'recovery_code', typed: recovery };
}

function createProveCodeStep(parts: SecondStepParts): SecondStep['proveCode'] {
  const { interactions, halves, limits, trustedBrowsers, cookie, audit, tell } = parts;
  const finish = createFinish(parts);
  const record = createRecord(audit);
  const fail = createFail(parts);

  return async function proveCode(ctx, interaction, pending, form) {
    const { uid } = interaction;
    const { account } = pending;
    const { method, typed } = codeIn(form);
    const isRecovery = method === 'recovery_code';
    const address = String(ctx.state['clientAddress']);
    const trusted = trustedBrowsers.find(cookie.read(ctx), account.id);
    // Nobody guesses a recovery code: strangers elsewhere don't keep the person from using one.
    const device = isRecovery ? `recovery code\n${address}` : trusted;
    if (pending.half === undefined && interaction.needed === 'passkey') {
      record(ctx, interaction, pending, ['failure', method, 'passkey_required']);
      return { refused: 'passkey_required' };
    }
    try {
      const takeBack = await limits.takeCode({ accountId: account.id, address, device, interaction: uid });
      if (takeBack === undefined) {
        record(ctx, interaction, pending, ['failure', method, 'too_many_attempts']);
        await halves.end(uid);
        return { destination: await interactions.deny(ctx, interaction, TOO_MANY) };
      }
      const code = { accountId: account.id, method, typed, isTrusted: trusted !== undefined } as const;
      const stepped = await untilUnchanged(async () => {
        const proved = await parts.proveCode(code);
        return proved !== undefined && 'proof' in proved
          ? finish(ctx, interaction, pending, { ...proved, method })
          : { failed: proved };
      }).catch((error: unknown) => {
        takeBack();
        throw error;
      });
      if ('failed' in stepped) {
        return { refused: await fail(ctx, interaction, pending, [method, stepped.failed]) };
      }
      takeBack();
      if (isRecovery) await tell?.(ctx, account.id, 'recovery_code_used');
      return stepped;
    } catch (error) {
      const refused = refusedBy(error);
      const reason = refused === 'maybe_used' ? 'unconfirmed' : refused;
      record(ctx, interaction, pending, ['failure', method, reason]);
      return { refused, retryAfterSeconds: (error as TooManyRequests | StoreUnavailable).retryAfterSeconds };
    }
  };
}

function refusedBy(error: unknown): 'maybe_used' | 'too_many_attempts' {
  if (error instanceof StoreUnavailable && error.mayBeDone) return 'maybe_used';
  if (error instanceof TooManyRequests) return 'too_many_attempts';
  throw error;
}

export function createSecondStep(parts: SecondStepParts): SecondStep {
  const { passkeys, audit } = parts;
  const finish = createFinish(parts);
  const record = createRecord(audit);

  return {
    pendingOf: createPendingOf(parts),

    proveCode: createProveCodeStep(parts),

    async provePasskey(ctx, interaction, pending, form) {
      const { account } = pending;
      const result = await passkeys?.authenticate({
        binding: secondStepBinding(interaction.uid),
        response: form.field('response'),
        accountId: account.id,
        needed: pending.half === undefined ? interaction.needed : 'second_factor',
      });
      if (result === undefined || 'refused' in result) {
        record(ctx, interaction, pending, ['failure', 'passkey', result?.refused]);
        return { refused: 'passkey_refused' };
      }
      return finish(ctx, interaction, pending, result);
    },
  };
}
