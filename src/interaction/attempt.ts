// One try to sign in from a page: the person, or the page again with what was wrong, and the status that says why.
import type { Context } from 'koa';
import { PasswordQueueFull } from '../accounts/passwords.ts';
import type { SignIn } from '../accounts/sign-in.ts';
import type { OpenInteraction } from '../engine/interactions.ts';
import { TooManyRequests } from '../limits/limits.ts';
import type { Form } from './form.ts';
import type { Show } from './show.ts';

/** What a person typed is shown again, within reason. */
export const MAX_USERNAME_LENGTH = 256;

/** Undefined when the page was shown again. */
export type Attempt = (ctx: Context, interaction: OpenInteraction, form: Form) => Promise<string | undefined>;

export function createAttempt(signIn: SignIn, show: Show): Attempt {
  return async function attempt(ctx, interaction, form) {
    const username = form.field('username').slice(0, MAX_USERNAME_LENGTH);
    try {
      const user = await signIn(username, form.field('password'), String(ctx.state['clientAddress']));
      if (user !== undefined) return user.id;
      show.login(ctx, interaction, { username, error: 'invalid_credentials' });
      ctx.status = 401;
    } catch (error) {
      if (!(error instanceof TooManyRequests || error instanceof PasswordQueueFull)) throw error;
      const busy = error instanceof PasswordQueueFull;
      ctx.set('Retry-After', String(error.retryAfterSeconds));
      show.login(ctx, interaction, { username, error: busy ? 'busy' : 'too_many_attempts' });
      ctx.status = busy ? 503 : 429;
    }
    return undefined;
  };
}
