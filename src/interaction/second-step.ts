// The second step: after the password, before there is any session, or in a session that proved less than the app needs.
import type { Context } from 'koa';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import { TooManyRequests } from '../limits/limits.ts';
import { originOf } from '../observability/audit.ts';
import { untilUnchanged } from '../store/documents.ts';
import type { CollectionWrite } from '../store/store.ts';
import type { Account } from '../users/accounts.ts';
import { amrOf, type Proof, withProof } from '../users/authentication-methods.ts';
import { type Factors, hasSecondFactor } from '../users/factors.ts';
import type { FailedCodes, TypedCode } from '../users/second-factor.ts';
import type { PageModels } from '../views/models.ts';
import type { Form } from './form.ts';
import type { HalfSignIn } from './half-sign-ins.ts';
import { type Host, type SecondFactors, secondsOf } from './host.ts';
import { tidyUp } from './tidy-up.ts';

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

/** What the challenge of a second step is bound to. */
export const secondStepBinding = (uid: string) => `second step:${uid}`;

type Method = TypedCode['method'] | 'passkey';
type Proven = {
  readonly proof: Proof;
  readonly factors: Factors;
  readonly spends?: CollectionWrite | undefined;
};

export class SecondStep {
  readonly #host: Host;
  readonly #second: SecondFactors;

  constructor(host: Host, second: SecondFactors) {
    this.#host = host;
    this.#second = second;
  }

  /** Undefined: nobody is there, or everything of the person ended meanwhile. */
  async pendingOf({ uid, prompt, accountId, issued }: OpenInteraction): Promise<Pending | undefined> {
    const half = await this.#second.halves.find(uid);
    const isStepUp = half === undefined && prompt === 'second_factor';
    const [id, since] = isStepUp ? [accountId, issued] : [half?.accountId, half?.issued];
    if (id === undefined || since === undefined) return undefined;
    const [account, factors] = await Promise.all([
      this.#host.accounts.findLive(id, since),
      this.#second.factors.get(id),
    ]);
    // Who has none any more signs in by the password.
    const isLeft = half === undefined || hasSecondFactor(factors);
    return account && isLeft ? { account, factors, half } : undefined;
  }

  async proveCode(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    form: Form,
  ): Promise<Stepped> {
    const { limits, trustedBrowsers, cookie } = this.#host;
    const { id: accountId } = pending.account;
    const recovery = form.field('recovery_code');
    const isRecovery = recovery !== '';
    const method = isRecovery ? 'recovery_code' : 'one_time_code';
    const address = String(ctx.state['clientAddress']);
    const trusted = trustedBrowsers.find(cookie.read(ctx), accountId);
    // Nobody guesses a recovery code: strangers elsewhere don't keep the person from using one.
    const device = isRecovery ? `recovery code\n${address}` : trusted;
    const failed = (reason: string) => this.#record(ctx, interaction, pending, method, reason);
    if (pending.half === undefined && interaction.needed === 'passkey') {
      failed('passkey_required');
      return { refused: 'passkey_required' };
    }
    try {
      const { uid } = interaction;
      const takeBack = await limits.takeCode({ accountId, address, device, interaction: uid });
      if (takeBack === undefined) {
        failed('too_many_attempts');
        await this.#second.halves.end(uid);
        return { destination: await this.#host.interactions.deny(ctx, interaction, 'too many wrong codes') };
      }
      const typed = isRecovery ? recovery : form.field('code');
      const code = { accountId, method, typed, isTrusted: trusted !== undefined } as const;
      const stepped = await untilUnchanged(async () => {
        const proved = await this.#second.proveCode(code);
        return proved !== undefined && 'proof' in proved
          ? this.#finish(ctx, interaction, pending, [method, proved])
          : { failed: proved };
      }).catch((error: unknown) => {
        takeBack();
        throw error;
      });
      if ('failed' in stepped) {
        return { refused: await this.#fail(ctx, interaction, pending, [method, stepped.failed]) };
      }
      takeBack();
      if (isRecovery) await this.#host.tell(ctx, accountId, 'recovery_code_used');
      return stepped;
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      failed('too_many_attempts');
      return { refused: 'too_many_attempts', retryAfterSeconds: error.retryAfterSeconds };
    }
  }

  async provePasskey(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    form: Form,
  ): Promise<Stepped> {
    const result = await this.#second.passkeys?.authenticate({
      binding: secondStepBinding(interaction.uid),
      response: form.field('response'),
      accountId: pending.account.id,
      needed: pending.half === undefined ? interaction.needed : 'second_factor',
    });
    if (result === undefined || 'refused' in result) {
      this.#record(ctx, interaction, pending, 'passkey', result?.refused ?? 'unknown');
      return { refused: 'passkey_refused' };
    }
    return this.#finish(ctx, interaction, pending, ['passkey', result]);
  }

  async #finish(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    [method, { proof, factors, spends }]: readonly [Method, Proven],
  ): Promise<Stepped> {
    const { interactions, limits, trustedBrowsers, cookie, audit } = this.#host;
    const { account, half } = pending;
    const amr = half === undefined ? withProof(interaction.amr, proof) : amrOf(['password', proof]);
    const proved = { amr, factorAt: secondsOf(this.#host), sessionsSince: factors.sessionsSince };
    const login = half && { accountId: account.id, ...half.issued, proved };
    const destination =
      login === undefined
        ? await interactions.finishStepUp(ctx, interaction, proved, spends)
        : await interactions.finishLogin(ctx, interaction, login, spends);
    this.#record(ctx, interaction, pending, method);
    if (destination === undefined || half === undefined) return { destination };
    cookie.write(ctx, trustedBrowsers.renew(cookie.read(ctx), account.id));
    await tidyUp(limits.finishSignIn(half.attempt), this.#second.halves.end(interaction.uid));
    audit.record('sign_in', 'success', {
      ...originOf(ctx.state),
      client_id: interaction.settings.clientId,
      account_id: account.id,
    });
    return { destination };
  }

  /** `reason`: why it failed. */
  #record(
    ctx: Context,
    { settings }: OpenInteraction,
    { account }: Pending,
    method: Method,
    reason?: string,
  ): void {
    const who = { ...originOf(ctx.state), client_id: settings.clientId, account_id: account.id };
    const outcome = reason === undefined ? 'success' : 'failure';
    this.#host.audit.record('second_factor', outcome, { ...who, method, reason });
  }

  /** What the page says. The person hears of guesses: they are of somebody with the password. */
  async #fail(
    ctx: Context,
    interaction: OpenInteraction,
    pending: Pending,
    [method, failed]: readonly [TypedCode['method'], FailedCodes | undefined],
  ): Promise<SecondStepError> {
    const { audit, tell } = this.#host;
    const { failures: times, isLocked = false, isNews = false } = failed ?? {};
    this.#record(ctx, interaction, pending, method, isLocked ? 'locked' : 'wrong');
    const who = { ...originOf(ctx.state), account_id: pending.account.id, method };
    if (isLocked && isNews) audit.record('account_lock', 'failure', { ...who, reason: 'locked', times });
    if (isNews) await tell(ctx, pending.account.id, 'codes_failed');
    if (method === 'recovery_code') return 'wrong_recovery_code';
    return isLocked ? 'codes_locked' : 'wrong_code';
  }
}
