// The act of signing in with a passkey alone. Whose it is, is the passkey's to say; every failure looks the same from outside.
import { type Limits, TooManyRequests } from '../limits/limits.ts';
import type { Clock } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import type { PasskeyAnswer, PasskeyAuthentication, ProvedPasskey } from './passkey-authentication.ts';
import type { PasskeyFault } from './passkeys.ts';
import type { Credentials, SignedIn } from './sign-in.ts';
import type { TrustedBrowsers } from './trusted-browsers.ts';

type Sent = Pick<PasskeyAnswer, 'binding' | 'response'> & Pick<Credentials, 'address' | 'device'>;

type SignedInByPasskey = Omit<SignedIn, 'user'> & ProvedPasskey;

/** For the audit trail alone. */
type RefusedSignIn = Readonly<{
  accountId?: string | undefined;
  reason: PasskeyFault | 'disabled' | 'too_many_attempts';
  retryAfterSeconds?: number | undefined;
}>;

export type SignInByPasskey = (answer: Sent) => Promise<SignedInByPasskey | RefusedSignIn>;

type PasskeySignInParts = Readonly<{
  accounts: Pick<Accounts, 'findLive' | 'findByUsername' | 'maySignIn'>;
  limits: Pick<Limits, 'takePasskey' | 'finishSignIn'>;
  trustedBrowsers: TrustedBrowsers;
  now: Clock;
}>;

/** `passkeys` undefined: they are off. */
export function createPasskeySignIn(
  { accounts, limits, trustedBrowsers, now }: PasskeySignInParts,
  passkeys: PasskeyAuthentication | undefined,
): SignInByPasskey {
  /** By name, as a sign-in with a password finds them: who is hidden by a user of the file can't sign in. */
  async function findUser(accountId: string) {
    const account = await accounts.findLive(accountId);
    const found = account && (await accounts.findByUsername(account.username));
    const isSame = found?.user?.id === accountId;
    return isSame && (await accounts.maySignIn(found)) ? found : undefined;
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

  return async function signInByPasskey(answer) {
    let takeBack: (() => void) | undefined;
    try {
      takeBack = await limits.takePasskey(answer.address);
      return await decide(answer, takeBack);
    } catch (error) {
      if (error instanceof TooManyRequests)
        return { reason: 'too_many_attempts', retryAfterSeconds: error.retryAfterSeconds };
      // Nobody knows whether it was right.
      takeBack?.();
      throw error;
    }
  };
}
