// One attempt to sign in with a passkey from the sign-in page: the interaction is finished, or the page is shown again.
import type { Context } from 'koa';
import { originOf } from '../observability/audit.ts';
import { amrOf } from '../users/authentication-methods.ts';
import { answerAgain, goOn } from './go-on.ts';
import type { Host, SecondFactors } from './host.ts';
import type { Opened } from './open.ts';
import { type Show, signInBinding } from './show.ts';

export function createPasskeyAttempt(
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
      address: String(ctx.state['clientAddress']),
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
    const login = { accountId, at, generation, proved };
    const destination = await interactions.finishLogin(ctx, interaction, login);
    if (destination !== undefined) audit.record('sign_in', 'success', { ...of, account_id: accountId });
    goOn(ctx, interaction, destination);
  };
}
