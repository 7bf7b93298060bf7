// One attempt to sign in with a passkey from the sign-in page: the interaction is finished, or the page is shown again.
import type { Context } from 'koa';
import { type Audit, originOf } from '../observability/audit.ts';
import type { Interactions } from '../oidc/interactions.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import { amrOf } from '../users/authentication-methods.ts';
import type { PasskeyAuthentication } from '../users/passkey-authentication.ts';
import type { SignInByPasskey } from '../users/passkey-sign-in.ts';
import type { Attempted } from './attempt.ts';
import type { Csrf } from './csrf.ts';
import type { Form } from './form.ts';
import type { Show } from './show.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';

/** What the challenge of a sign-in page is bound to. */
export const signInBinding = (uid: string) => `sign-in:${uid}`;

/** The form of the sign-in page, as its token has it: somebody else may be at their second step in the same sign-in. */
export const PASSKEY_ALONE = 'passkey alone';

export function toPasskeyForm(
  { requestOptions }: Pick<PasskeyAuthentication, 'requestOptions'>,
  csrf: Csrf,
  { uid, pageUrl }: OpenInteraction,
) {
  const options = JSON.stringify(requestOptions(signInBinding(uid)));
  return { action: `${pageUrl}/passkey`, csrf: csrf.token(uid, PASSKEY_ALONE), options };
}

export type PasskeyAttemptParts = {
  readonly interactions: Pick<Interactions, 'finishLogin'>;
  readonly signIn: SignInByPasskey;
  readonly show: Pick<Show, 'login'>;
  readonly cookie: DeviceCookie;
  readonly audit: Audit;
};

export function createPasskeyAttempt(parts: PasskeyAttemptParts) {
  const { interactions, signIn, show, cookie, audit } = parts;

  return async function attempt(ctx: Context, interaction: OpenInteraction, form: Form): Promise<Attempted> {
    const { uid, settings } = interaction;
    const of = { ...originOf(ctx.state), client_id: settings.clientId, method: 'passkey' };
    const result = await signIn({
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
      if (isLimit) ctx.set('Retry-After', String(retryAfterSeconds));
      ctx.status = isLimit ? 429 : 401;
      return 'shown again';
    }
    const { accountId, at, generation, device, proof, factors } = result;
    cookie.write(ctx, device);
    const proved = { amr: amrOf([proof]), factorAt: at, sessionsSince: factors.sessionsSince };
    const login = { accountId, at, generation, proved };
    const destination = await interactions.finishLogin(ctx, interaction, login);
    if (destination !== undefined) audit.record('sign_in', 'success', { ...of, account_id: accountId });
    return { destination };
  };
}
