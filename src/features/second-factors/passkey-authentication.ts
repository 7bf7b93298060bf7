// Signing in with a passkey: alone, or as the second step of a known user.
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { App } from '../../oidc/app.ts';
import type { Level } from '../../config/sign-in-levels.ts';
import type { Proof } from './proofs.ts';
import { type Factors, type Passkey, forgiven, isProvisional } from '../../users/factors.ts';
import { withNotice } from './notices.ts';
import {
  CHALLENGE_MS,
  type PasskeyFault,
  type RefusedPasskey,
  createChallenges,
  parseCredential,
  toDescriptor,
} from './passkeys.ts';
import { TooManyRequests } from '../../limits/limits.ts';
import type { Credentials, SignedIn } from '../../users/sign-in.ts';

// Signing in with a passkey alone. The passkey identifies its user, and all failures look the same from outside.

type Sent = Pick<PasskeyAnswer, 'binding' | 'response'> & Pick<Credentials, 'address' | 'device'>;

type SignedInByPasskey = Omit<SignedIn, 'user'> & ProvedPasskey;

/** Only for the audit trail. */
type RefusedSignIn = Readonly<{
  accountId?: string | undefined;
  reason: PasskeyFault | 'disabled' | 'too_many_attempts';
  retryAfterSeconds?: number | undefined;
}>;

type SignInByPasskey = (answer: Sent) => Promise<SignedInByPasskey | RefusedSignIn>;

/** `passkeys` undefined: they are off. */
export function createPasskeySignIn(
  { accounts, limits, trustedBrowsers, now }: App,
  passkeys: PasskeyAuthentication | undefined,
): SignInByPasskey {
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

  return async function signInByPasskey(answer) {
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

type ProvedPasskey = Readonly<{ accountId: string; proof: Proof; factors: Factors }>;

type OwnPasskeys = { readonly factors: Factors; readonly needed: Level };

type PasskeyAuthentication = ReturnType<typeof createPasskeyAuthentication>;

type PasskeyAnswer = Readonly<{
  binding: string;
  response: string;
  accountId?: string | undefined;
  needed?: Level | undefined;
}>;
type Use = Readonly<{ counter: number; synced: boolean; backupEligible: boolean; at: number }>;
type Counted = { readonly to?: Partial<Factors>; readonly fault?: PasskeyFault };

/** WebAuthn L3 §7.2: a counter that doesn't grow may come from a copy; many passkeys always send 0. */
function countUse({ passkeys, notices, ...own }: Factors, id: string, { at, ...use }: Use): Counted {
  const passkey = passkeys.find((one) => one.id === id);
  if (passkey === undefined || passkey.suspect === true) return { fault: 'unknown' };
  const { synced, backupEligible = synced || use.backupEligible } = passkey;
  if (use.backupEligible !== backupEligible) return { fault: 'wrong' };
  const replace = (changed: Partial<Passkey>) =>
    passkeys.map((one) => (one === passkey ? { ...one, ...changed } : one));
  if (passkey.counter > 0 && use.counter === passkey.counter) return { fault: 'used' };
  if (use.counter >= passkey.counter) {
    return { to: { ...forgiven(own), passkeys: replace({ ...use, usedAt: at }) } };
  }
  const added = withNotice(notices, { what: 'passkey_refused', at });
  return { to: { passkeys: replace({ suspect: true }), notices: added }, fault: 'copied' };
}

/** A passkey that is used alone, or that the app requires, must verify its user. */
const mustVerify = (needed: Level = 'passkey') => needed === 'passkey';

export function createPasskeyAuthentication(parts: App) {
  const { factors, now } = parts;
  const challenges = createChallenges(parts);

  async function verify(
    passkey: Passkey,
    response: AuthenticationResponseJSON,
    expected: ReturnType<typeof challenges.expected>,
  ) {
    // Imported at the first passkey, not at the start: it takes 25 MB of memory and extends the global Reflect.
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const publicKey = new Uint8Array(Buffer.from(passkey.publicKey, 'base64url'));
    try {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        ...expected,
        // The counter is checked where it is written.
        credential: { id: passkey.id, publicKey, counter: 0 },
      });
      return verified ? authenticationInfo : undefined;
    } catch {
      // It throws for any fault, and all faults are the caller's.
      return undefined;
    }
  }

  async function findPasskey({ id, response }: AuthenticationResponseJSON, known: string | undefined) {
    const { userHandle } = response;
    const named = typeof userHandle === 'string' ? await factors.ownerOfHandle(userHandle) : undefined;
    const accountId = known ?? named;
    // WebAuthn L3 §7.2: a security key may send no user handle if the user is known.
    if (named !== accountId && (userHandle ?? undefined) !== undefined)
      return { accountId, passkey: undefined };
    const { passkeys = [] } = accountId === undefined ? {} : await factors.get(accountId);
    return { accountId, passkey: passkeys.find((one) => one.id === id && one.suspect !== true) };
  }

  return {
    /** Options for a page. `binding` names its form, and must be the same for the answer. `own`: for the second step of that user. */
    requestOptions: (binding: string, own?: OwnPasskeys): string =>
      JSON.stringify({
        challenge: challenges.make(binding),
        rpId: challenges.rpId,
        timeout: CHALLENGE_MS,
        // Without a known user, no passkeys are listed (WebAuthn L3 §14.6.3).
        allowCredentials: own?.factors.passkeys.filter((one) => one.suspect !== true).map(toDescriptor) ?? [],
        userVerification: mustVerify(own?.needed) ? 'required' : 'preferred',
      } satisfies PublicKeyCredentialRequestOptionsJSON),

    /** Without `accountId`, the passkey identifies its user and must have verified them. Throws StoreUnavailable. */
    async authenticate(answer: PasskeyAnswer): Promise<ProvedPasskey | RefusedPasskey> {
      const { binding, response: text, accountId: known, needed } = answer;
      const response = parseCredential(text) as AuthenticationResponseJSON | undefined;
      if (response === undefined) return { refused: 'malformed' };
      const { accountId, passkey } = await findPasskey(response, known);
      const at = Math.floor(now() / 1000);
      const isTooNew = passkey !== undefined && isProvisional(passkey, at);
      // A provisional passkey doesn't reach this level: the app would ask for it again.
      if (accountId === undefined || passkey === undefined || (isTooNew && needed === 'passkey')) {
        return { refused: 'unknown', accountId };
      }
      const used = await verify(passkey, response, challenges.expected(binding, mustVerify(needed)));
      if (used === undefined) return { refused: 'wrong', accountId };
      const { newCounter: counter, userVerified: verifiedUser, credentialBackedUp: synced } = used;
      const backupEligible = used.credentialDeviceType === 'multiDevice';
      const use = { counter, synced, backupEligible, at };
      let fault: PasskeyFault | undefined;
      // The write decides between concurrent uses.
      const changed = await factors.change(accountId, (before) => {
        const counted = countUse(before, passkey.id, use);
        fault = counted.fault;
        return counted.to;
      });
      if (fault !== undefined || changed === undefined) return { refused: fault ?? 'unknown', accountId };
      const proof = isTooNew ? 'recovery_code' : { passkey: { verifiedUser, synced } };
      return { accountId, proof, factors: changed };
    },
  };
}
