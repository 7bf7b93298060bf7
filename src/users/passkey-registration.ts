// Adding a passkey or a security key to a user.
import { randomBytes } from 'node:crypto';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { type Factors, MAX_PASSKEYS, type Passkey } from './factors.ts';
import {
  CHALLENGE_MS,
  createChallenges,
  parseCredential,
  type PasskeysParts,
  type RefusedPasskey,
  toDescriptor,
  transportsOf,
} from './passkeys.ts';

const HANDLE_BYTES = 32;
/** WebAuthn L3 §7.1. */
const MAX_ID_BYTES = 1023;
/** ES256, RS256 and EdDSA. What a library adds of its own may be unknown to another process that runs on another Node. */
const ALGORITHMS = [-7, -257, -8];

/**
 * What a browser sends where no attestation is asked for: none, or what the key signed itself (WebAuthn L3 §5.1.3). Others come with
 * certificates, whose lists of revoked ones would be fetched from wherever they say.
 */
const FORMATS: readonly string[] = ['none', 'packed'];

export type NewPasskeyFor = Readonly<{
  id: string;
  username: string;
  /** Where it will be all that they have, or nothing less will do. */
  mustVerifyUser?: boolean | undefined;
}>;

export type PasskeyRegistration = ReturnType<typeof createPasskeyRegistration>;

type Answer = Readonly<{
  binding: string;
  response: string;
  handle: string;
  accountId: string;
  mustVerifyUser: boolean;
}>;

async function isFormatKnown({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
  try {
    return FORMATS.includes(
      decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject)).get('fmt'),
    );
  } catch {
    return false;
  }
}

const bindingOf = (binding: string, handle: string) => `${binding}:${handle}`;

/** `serviceName`: what the browser calls the service. */
export function createPasskeyRegistration(parts: PasskeysParts, serviceName: string) {
  const { factors, now } = parts;
  const challenges = createChallenges(parts);

  return {
    /** `handle` goes back with the form. Undefined for who has too many. */
    creationOptions(binding: string, { username, mustVerifyUser = false }: NewPasskeyFor, own: Factors) {
      if (own.passkeys.length >= MAX_PASSKEYS) return undefined;
      const wish = mustVerifyUser ? 'required' : 'preferred';
      const handle = own.handle ?? randomBytes(HANDLE_BYTES).toString('base64url');
      const options: PublicKeyCredentialCreationOptionsJSON = {
        challenge: challenges.make(bindingOf(binding, handle)),
        rp: { id: challenges.rpId, name: serviceName },
        user: { id: handle, name: username, displayName: username },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        timeout: CHALLENGE_MS,
        excludeCredentials: own.passkeys.map(toDescriptor),
        authenticatorSelection: { residentKey: wish, userVerification: wish },
        attestation: 'none',
      };
      return { handle, options: JSON.stringify(options) };
    },

    /** Doesn't store it. Throws StoreUnavailable. */
    async register(answer: Answer): Promise<{ readonly passkey: Passkey } | RefusedPasskey> {
      const { binding, response: text, handle, accountId, mustVerifyUser } = answer;
      const response = parseCredential(text) as RegistrationResponseJSON | undefined;
      if (response === undefined || !(await isFormatKnown(response))) return { refused: 'malformed' };
      const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
      const { verified, registrationInfo: made } = await verifyRegistrationResponse({
        response,
        ...challenges.expected(bindingOf(binding, handle), mustVerifyUser),
        supportedAlgorithmIDs: ALGORITHMS,
      }).catch(() => ({ verified: false as const, registrationInfo: undefined }));
      if (!verified || made === undefined) return { refused: 'wrong', accountId };
      const { credential } = made;
      if (Buffer.from(credential.id, 'base64url').length > MAX_ID_BYTES)
        return { refused: 'wrong', accountId };
      // WebAuthn L3 §7.1: a credential is one user's.
      const isFree = await factors.claimCredential(credential.id, accountId);
      if (!isFree || !(await factors.claimHandle(handle, accountId))) return { refused: 'taken', accountId };
      const passkey: Passkey = {
        id: credential.id,
        publicKey: Buffer.from(credential.publicKey).toString('base64url'),
        counter: credential.counter,
        transports: transportsOf(credential.transports),
        synced: made.credentialBackedUp,
        backupEligible: made.credentialDeviceType === 'multiDevice',
        verifiesUser: made.userVerified,
        aaguid: made.aaguid,
        name: '',
        createdAt: Math.floor(now() / 1000),
      };
      return { passkey };
    },
  };
}
