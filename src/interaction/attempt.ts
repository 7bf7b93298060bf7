// One try to sign in from a page: the person, or the page again with what was wrong, and the status that says why.
import type { Context } from 'koa';
import { PasswordQueueFull } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { Login, OpenInteraction } from '../engine/interactions.ts';
import { TooManyRequests } from '../limits/limits.ts';
import { type Audit, type AuditFields, originOf, type Outcome } from '../telemetry/audit.ts';
import type { DeviceCookie } from './device-cookie.ts';
import type { Form } from './form.ts';
import type { Show } from './show.ts';

/** What a person typed is shown again, within reason. */
export const MAX_USERNAME_LENGTH = 256;

/** Undefined when the page was shown again. */
export type Attempt = (ctx: Context, interaction: OpenInteraction, form: Form) => Promise<Login | undefined>;

export type AttemptParts = {
  readonly signIn: SignIn;
  readonly show: Show;
  readonly cookie: DeviceCookie;
  readonly audit: Audit;
};

export function createAttempt({ signIn, show, cookie, audit }: AttemptParts): Attempt {
  return async function attempt(ctx, interaction, form) {
    const record = (outcome: Outcome, fields: AuditFields) =>
      audit.record('sign_in', outcome, {
        ...originOf(ctx.state),
        client_id: interaction.settings.clientId,
        ...fields,
      });
    const username = form.field('username').slice(0, MAX_USERNAME_LENGTH);
    try {
      const signedIn = await signIn({
        username,
        password: form.field('password'),
        address: String(ctx.state['clientAddress']),
        device: cookie.read(ctx),
      });
      if (signedIn.user !== undefined) {
        cookie.write(ctx, signedIn.device);
        record('success', { account_id: signedIn.user.id });
        return { accountId: signedIn.user.id, at: signedIn.at };
      }
      record('failure', { account_id: signedIn.meant?.id, reason: signedIn.reason });
      show.login(ctx, interaction, { username, error: 'invalid_credentials' });
      ctx.status = 401;
    } catch (error) {
      if (!(error instanceof TooManyRequests || error instanceof PasswordQueueFull)) throw error;
      const busy = error instanceof PasswordQueueFull;
      record('failure', { reason: busy ? 'busy' : 'too_many_attempts' });
      ctx.set('Retry-After', String(error.retryAfterSeconds));
      show.login(ctx, interaction, { username, error: busy ? 'busy' : 'too_many_attempts' });
      ctx.status = busy ? 503 : 429;
    }
    return undefined;
  };
}
