// One attempt to sign in from a page: finishes the interaction, or shows the page again with the error. The audit trail gets a
// record of either.
import type { Context } from 'koa';
import { BY_PASSWORD } from '../users/authentication-methods.ts';
import type { PasswordAccepted, NotDecided, Refused } from '../users/sign-in.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import { noteInActivity } from '../users/acts.ts';
import { CAP, PACED_FROM } from '../limits/sign-in-attempts.ts';
import { StoreUnavailable } from '../store/store.ts';
import { type AuditFields, clientAddressOf, originOf, type Outcome } from '../observability/audit.ts';
import { actorOf } from './actor.ts';
import { answerAgain, continueTo } from './continue-to.ts';
import type { Host } from './host.ts';
import type { Opened } from './open.ts';
import type { PendingSignIns } from './pending-sign-in.ts';
import type { Show, Shown } from './show.ts';

/** Longer usernames are cut, because the page shows them again. */
export const MAX_USERNAME_LENGTH = 256;

/** All other reasons have the same message. */
const REFUSALS: Partial<Record<string, readonly [Shown['error'], number]>> = {
  factors_off: ['factors_off', 403],
  busy: ['busy', 503],
  too_many_attempts: ['too_many_attempts', 429],
};

export function createAttempt(host: Host, show: Pick<Show, 'login'>, second: PendingSignIns | undefined) {
  const { interactions, checkPassword, cookie, factors, audit } = host;

  return async function attempt(ctx: Context, { interaction, form }: Opened): Promise<void> {
    const { clientId } = interaction.settings;
    const record = (outcome: Outcome, fields: AuditFields) =>
      audit.record('sign_in', outcome, { ...originOf(ctx.state), client_id: clientId, ...fields });
    const username = form.field('username').slice(0, MAX_USERNAME_LENGTH);
    const result = await checkPassword({
      username,
      password: form.field('password'),
      address: clientAddressOf(ctx),
      device: cookie.read(ctx),
    });
    if (result.user === undefined) {
      record('failure', { account_id: result.meant?.id, reason: result.reason });
      if ('failures' in result) await recordLock(host, ctx, result);
      return refuse(ctx, interaction, username, result);
    }
    if ('pending' in result) return beginSecondStep(ctx, interaction, result);
    const { user, device, at, generation } = result;
    cookie.write(ctx, device);
    try {
      const own = second && (await factors.get(user.id));
      const proved = own && { amr: BY_PASSWORD, sessionsSince: own.sessionsSince };
      const login = { accountId: user.id, at, generation, proved, device: cookie.read(ctx) };
      const destination = await interactions.finishLogin(ctx, interaction, login);
      // Of several correct attempts at the same time, only one signs the user in.
      if (destination !== 'gone') record('success', { account_id: user.id });
      continueTo(ctx, interaction, destination);
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        record('failure', { account_id: user.id, reason: 'unavailable' });
      }
      throw error;
    }
  };

  function refuse(
    ctx: Context,
    interaction: OpenInteraction,
    username: string,
    result: Refused | NotDecided,
  ): void {
    if (result.reason === 'unavailable') throw result.cause;
    const [error, status] = REFUSALS[result.reason] ?? (['invalid_credentials', 401] as const);
    show.login(ctx, interaction, { username, error });
    answerAgain(ctx, status, 'cause' in result ? result.cause.retryAfterSeconds : undefined);
  }

  /** From now on, the page of this interaction is the second step. */
  async function beginSecondStep(
    ctx: Context,
    interaction: OpenInteraction,
    { user, at, generation, pending }: PasswordAccepted,
  ): Promise<void> {
    const { uid, pageUrl, settings } = interaction;
    const { id: accountId, username } = user;
    await second?.begin(uid, { accountId, username, issued: { at, generation }, attempt: pending });
    const who = { client_id: settings.clientId, account_id: accountId };
    audit.record('password_accepted', 'success', { ...originOf(ctx.state), ...who });
    continueTo(ctx, interaction, { url: pageUrl });
  }
}

/** Records guesses that delay unknown browsers and addresses. Pacing limits these to about sixty records in a row of failures. */
async function recordLock(host: Host, ctx: Context, { meant, failures }: Refused) {
  if (meant === undefined || failures < PACED_FROM) return;
  host.audit.record('account_lock', 'failure', {
    ...originOf(ctx.state),
    account_id: meant.id,
    reason: failures < CAP ? 'paced' : 'locked',
    times: failures,
  });
  if (failures >= CAP) await noteInActivity(host, actorOf(ctx), meant.id, { what: 'passwords_failed' });
}
