// Verifies a passkey, which is used alone or as the second step of a known user.
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

export type ProvedPasskey = Readonly<{ accountId: string; proof: Proof; factors: Factors }>;

type OwnPasskeys = Readonly<{ factors: Factors; needed: Level }>;

export type PasskeyAuthentication = ReturnType<typeof createPasskeyAuthentication>;

export type PasskeyAnswer = Readonly<{
  binding: string;
  response: string;
  accountId?: string | undefined;
  needed?: Level | undefined;
}>;
type Use = Readonly<{ counter: number; synced: boolean; backupEligible: boolean; at: number }>;
type Counted = Readonly<{ to?: Partial<Factors>; fault?: PasskeyFault }>;

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
