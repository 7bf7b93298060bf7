// Signing in with a passkey alone, from the sign-in page. The passkey identifies its user, and all failures look the same from outside.
import type { Context } from 'koa';
import type { Csrf } from '../../interaction/csrf.ts';
import { answerAgain, continueTo } from '../../interaction/continue-to.ts';
import type { Host } from '../../interaction/host.ts';
import type { Opened } from '../../interaction/open.ts';
import type { Show, Way } from '../../interaction/show.ts';
import { TooManyRequests } from '../../limits/limits.ts';
import { clientAddressOf, originOf } from '../../observability/audit.ts';
import type { OpenInteraction } from '../../oidc/open-interaction.ts';
import type { Credentials, SignedIn } from '../../users/sign-in.ts';
import type { PasskeyAnswer, PasskeyAuthentication, ProvedPasskey } from './passkey-authentication.ts';
import type { PasskeyFault } from './passkeys.ts';
import { amrOf } from './proofs.ts';

type Sent = Pick<PasskeyAnswer, 'binding' | 'response'> & Pick<Credentials, 'address' | 'device'>;

/** Only for the audit trail. */
type RefusedSignIn = Readonly<{
  accountId?: string | undefined;
  reason: PasskeyFault | 'disabled' | 'too_many_attempts';
  retryAfterSeconds?: number | undefined;
}>;

/** `passkeys` undefined: they are off. */
function createPasskeySignIn(
  { accounts, limits, trustedBrowsers, now }: Host,
  passkeys: PasskeyAuthentication | undefined,
) {
  /** Looks up by username, like a sign-in with a password: a user hidden by a user in the file can't sign in. */
  async function findUser(accountId: string) {
    const account = await accounts.findLive(accountId);
    const found = account && (await accounts.findByUsername(account.username));
    const isSame = found?.user?.id === accountId;
    return isSame && (await accounts.refusalOf(found)) === undefined ? found : undefined;
  }

  async function decide({ binding, response, address, device }: Sent, takeBack: () => void) {
    const at = Math.floor(now() / 1000);
    const proved = (await passkeys?.authenticate({ binding, response })) ?? { refused: 'unknown' as const };
    if ('refused' in proved) return { accountId: proved.accountId, reason: proved.refused };
    const { accountId, proof, factors } = proved;
    const found = await findUser(accountId);
    if (found === undefined) return { accountId, reason: 'disabled' as const };
    takeBack();
    const counted = { account: accountId, since: found.attemptsSince, exists: true, address };
    await limits.finishSignIn({ ...counted, device: trustedBrowsers.find(device, accountId) });
    const { generation } = found;
    return { accountId, at, generation, device: trustedBrowsers.renew(device, accountId), proof, factors };
  }

  return async function signInByPasskey(
    answer: Sent,
  ): Promise<(Omit<SignedIn, 'user'> & ProvedPasskey) | RefusedSignIn> {
    let takeBack: (() => void) | undefined;
    try {
      ({ takeBack } = await limits.takePasskey(answer.address));
      return await decide(answer, takeBack);
    } catch (error) {
      if (error instanceof TooManyRequests)
        return { reason: 'too_many_attempts', retryAfterSeconds: error.retryAfterSeconds };
      // It isn't known whether the passkey was right.
      takeBack?.();
      throw error;
    }
  };
}

/** Handles the answer: the interaction is finished, or the page is shown again. */
export function createPasskeyAttempt(
  host: Host,
  passkeys: PasskeyAuthentication | undefined,
  show: Pick<Show, 'login'>,
) {
  const { interactions, cookie, audit } = host;
  const signInByPasskey = createPasskeySignIn(host, passkeys);

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
    continueTo(ctx, interaction, destination);
  };
}

const signInBinding = (uid: string) => `sign-in:${uid}`;

/** Names the sign-in page's form in its CSRF token, because another user may be at the second step of the same sign-in. */
export const PASSKEY_ALONE = 'passkey alone';

/** Undefined while passkeys are off. `step`: the name of the form in its CSRF token. */
export function passkeyForm(
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
  ({ csrf }: Host, passkeys: PasskeyAuthentication | undefined): Way =>
  (interaction) => {
    const options = passkeys?.requestOptions(signInBinding(interaction.uid));
    return { passkey: passkeyForm(csrf, interaction, PASSKEY_ALONE, options) };
  };
