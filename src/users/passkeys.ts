// What signing in with a passkey and adding one have in common (WebAuthn Level 3). Nothing is stored in between: a challenge is a keyed hash of
// what it was made for, and the time.
import { isSameHash, type KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import type { FactorStore, Passkey } from './factors.ts';

export const CHALLENGE_MS = 5 * 60 * 1000;

/** Why an answer isn't taken; for the audit trail alone. */
export type PasskeyFault = 'malformed' | 'unknown' | 'wrong' | 'used' | 'copied' | 'taken';
export type RefusedPasskey = { readonly refused: PasskeyFault; readonly accountId?: string | undefined };

export type PasskeysParts = Readonly<{
  issuer: string;
  factors: FactorStore;
  hash: KeyedHash;
  now: Clock;
}>;

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;

/** The ways to reach it that a browser named. */
export const transportsOf = (named: unknown) =>
  Array.isArray(named) ? TRANSPORTS.filter((one) => named.includes(one)) : [];

export const toDescriptor = ({ id, transports }: Passkey) => ({
  id,
  type: 'public-key' as const,
  transports: transportsOf(transports),
});

/** `binding` says what a challenge is for: the interaction, and the form. */
export function createChallenges({ issuer, hash, now }: PasskeysParts) {
  const { origin, hostname: rpId } = new URL(issuer);
  const proofOf = (binding: string, time: string) => hash(`webauthn challenge:${binding}:${time}`);

  /** Made here, for this, at most five minutes ago. */
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
    /** What an answer to it has to be. */
    expected: (binding: string, mustVerifyUser: boolean) => ({
      expectedChallenge: (challenge: string) => isOwn(challenge, binding),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: mustVerifyUser,
    }),
  };
}

type CredentialJSON = { readonly id: string; readonly response: { readonly clientDataJSON: string } };

/** What a form sent as a credential's toJSON(). Frames of other sites never have a page of ours, so such an answer is none of ours. */
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
