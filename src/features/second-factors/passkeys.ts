// Registers passkeys and security keys, and creates the challenges for them and for sign-ins (WebAuthn Level 3). Challenges aren't stored:
// a challenge is a keyed hash of its purpose and the time.
import type { App } from '../../oidc/app.ts';
import { randomBytes } from 'node:crypto';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Factors, Passkey } from '../../users/factors.ts';
import { isSameHash } from '../../store/keyed-hash.ts';

export const MAX_PASSKEYS = 20;
export const CHALLENGE_MS = 5 * 60 * 1000;

/** Why an answer is rejected, only for the audit trail. */
export type PasskeyFault = 'malformed' | 'unknown' | 'wrong' | 'used' | 'copied' | 'taken';
export type RefusedPasskey = Readonly<{ refused: PasskeyFault; accountId?: string | undefined }>;

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;

const transportsOf = (named: unknown) =>
  Array.isArray(named) ? TRANSPORTS.filter((one) => named.includes(one)) : [];

export const toDescriptor = ({ id, transports }: Passkey) => ({
  id,
  type: 'public-key' as const,
  transports: transportsOf(transports),
});

/** `binding` says what a challenge is for: the interaction, and the form. */
export function createChallenges({ issuer, hash, now }: App) {
  const { origin, hostname: rpId } = new URL(issuer);
  const proofOf = (binding: string, time: string) => hash(`webauthn challenge:${binding}:${time}`);

  /** Whether the challenge was created here, for this binding, at most five minutes ago. */
  function isOwn(challenge: string, binding: string): boolean {
    const [time = '', proof = ''] = Buffer.from(challenge, 'base64url').toString().split('.');
    return isSameHash(proofOf(binding, time), proof) && now() - Number.parseInt(time, 36) <= CHALLENGE_MS;
  }

  return {
    rpId,
    make(binding: string): string {
      const time = now().toString(36);
      return Buffer.from(`${time}.${proofOf(binding, time)}`).toString('base64url');
    },
    expected: (binding: string, mustVerifyUser: boolean) => ({
      expectedChallenge: (challenge: string) => isOwn(challenge, binding),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: mustVerifyUser,
    }),
  };
}

type CredentialJSON = { readonly id: string; readonly response: { readonly clientDataJSON: string } };

/** Parses a credential's toJSON() from a form. Other sites can't frame our pages, so an answer from a frame isn't ours. */
export function parseCredential(text: string): CredentialJSON | undefined {
  try {
    const value = JSON.parse(text) as CredentialJSON;
    const client = JSON.parse(Buffer.from(value.response.clientDataJSON, 'base64url').toString()) as {
      readonly crossOrigin?: unknown;
      readonly topOrigin?: unknown;
    };
    const isFramed = client.crossOrigin === true || client.topOrigin !== undefined;
    return typeof value.id === 'string' && !isFramed ? value : undefined;
  } catch {
    return undefined;
  }
}

const HANDLE_BYTES = 32;
/** WebAuthn L3 §7.1. */
const MAX_ID_BYTES = 1023;
/** ES256, RS256 and EdDSA. Others that the library adds may be unknown to a process on another Node.js version. */
const ALGORITHMS = [-7, -257, -8];

/**
 * Formats that a browser sends if no attestation is requested: none, or self attestation (WebAuthn L3 §5.1.3). Revocation lists of others
 * would be fetched from any URL that a certificate names.
 */
const FORMATS: readonly string[] = ['none', 'packed'];

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

type PasskeyOwner = Readonly<{
  username: string;
  /** They have no password, or the app requires a passkey with user verification. */
  mustVerifyUser?: boolean | undefined;
}>;

/** `serviceName`: the name of the service in the browser's dialog. */
export function createPasskeyRegistration(parts: App, serviceName: string) {
  const { factors, now } = parts;
  const challenges = createChallenges(parts);

  return {
    /** `handle` is sent back with the form. Undefined if the user has too many passkeys. */
    creationOptions(binding: string, { username, mustVerifyUser = false }: PasskeyOwner, own: Factors) {
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

    /** Verifies a passkey, but doesn't store it. Throws StoreUnavailable. */
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
      // WebAuthn L3 §7.1: a credential belongs to one user.
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
