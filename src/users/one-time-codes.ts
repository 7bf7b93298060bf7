// One-time codes of an authenticator app (TOTP, RFC 6238): six digits of HMAC-SHA-1, every 30 seconds, as all apps have them.
import { type Vault, VaultError } from '../keys/vault.ts';
import { FormFault } from '../store/form.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { FactorStore, OneTimeCodes } from './factors.ts';

const PERIOD_SECONDS = 30;
/** RFC 4226 §4: 160 bits. */
const SECRET_BYTES = 20;
/** RFC 6238 §5.2: one step either side, for clocks that differ and codes typed slowly. */
const DRIFT = 1;

/** What an authenticator app needs; the same as text, for those that can't read pictures. */
export type NewOneTimeCodes = Readonly<{
  /** base32. */
  secret: string;
  uri: string;
  /** A picture of the same, as a data URL. */
  qr: string;
  /** The secret, for the form that confirms it: nothing is stored until a code was right. */
  sealed: string;
}>;

/** More than a user accepts while a clock is ahead. */
const KEPT_STEPS = 50;

/**
 * Once the code of `step` was accepted at `at`. Undefined: it was used before, or a newer one was (RFC 6238 §5.2). What was accepted ahead
 * of now, by a clock that was ahead, only counts as used.
 */
export function withStep(codes: OneTimeCodes, step: number, at: number): OneTimeCodes | undefined {
  const used = [...(codes.usedSteps ?? []), codes.lastStep];
  const newest = stepAt(at) + DRIFT;
  if (used.some((one) => one === step || (one > step && one <= newest))) return undefined;
  return { ...codes, lastStep: step, usedSteps: used.slice(-KEPT_STEPS) };
}

const stepAt = (at: number) => Math.floor(at / 1000 / PERIOD_SECONDS);

/** `at`: epoch milliseconds. */
type Typed = { readonly typed: string; readonly at: number };

type OneTimeCodesParts = Readonly<{
  vault: Pick<Vault, 'seal' | 'open'>;
  random: (bytes: number) => Buffer;
  /** What the app lists the codes under. */
  issuer: string;
}>;

/** A stored secret belongs to this user: under another id it doesn't open. */
export const sealedFor = (accountId: string) => `the one-time codes of ${accountId}`;
const pendingFor = (accountId: string) => `new one-time codes of ${accountId}`;

/** Wide digits and spaces are forgiven. Undefined for what is no code. */
function digitsOf(typed: string): string | undefined {
  const digits = typed.normalize('NFKC').replaceAll(/\s/g, '');
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** The step that `typed` is the code of, at `at` (epoch milliseconds) or one step off. */
async function stepOf(secret: Buffer, typed: string, at: number): Promise<number | undefined> {
  const { Secret, TOTP } = await import('otpauth');
  const token = digitsOf(typed);
  if (token === undefined) return undefined;
  // Bytes of its own: a Buffer is often a view of a pool.
  const totp = new TOTP({
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    period: PERIOD_SECONDS,
  });
  const delta = totp.validate({ token, timestamp: at, window: DRIFT });
  return delta === null ? undefined : stepAt(at) + delta;
}

/** The error of the vault where it was altered, is somebody else's, or needs a key that isn't there. */
function open(vault: Pick<Vault, 'open'>, sealed: string, aad: string): Buffer | VaultError {
  try {
    return vault.open(sealed, aad);
  } catch (error) {
    if (error instanceof VaultError) return error;
    throw error;
  }
}

export function createOneTimeCodes({ vault, random, issuer }: OneTimeCodesParts) {
  return {
    /** `pending`: of a form whose code was wrong, so that the app that took the secret from it stays right. */
    async make(accountId: string, username: string, pending = ''): Promise<NewOneTimeCodes> {
      const [{ Secret, TOTP }, { renderSVG }] = await Promise.all([import('otpauth'), import('uqr')]);
      const known = open(vault, pending, pendingFor(accountId));
      const bytes = known instanceof VaultError ? random(SECRET_BYTES) : known;
      const secret = new Secret({ buffer: new Uint8Array(bytes).buffer });
      const uri = new TOTP({ issuer, label: username, secret, period: PERIOD_SECONDS }).toString();
      return {
        secret: secret.base32,
        uri,
        qr: `data:image/svg+xml;base64,${Buffer.from(renderSVG(uri, { border: 4, ecc: 'M' })).toString('base64')}`,
        sealed: vault.seal(bytes, pendingFor(accountId)),
      };
    },

    /** `sealed` as its form had it. The code that confirms it is used up by that. Undefined: the code is wrong. */
    async confirm(
      accountId: string,
      { sealed, typed, at }: Typed & { readonly sealed: string },
    ): Promise<OneTimeCodes | undefined> {
      const secret = open(vault, sealed, pendingFor(accountId));
      const lastStep = secret instanceof VaultError ? undefined : await stepOf(secret, typed, at);
      if (secret instanceof VaultError || lastStep === undefined) return undefined;
      return { sealed: vault.seal(secret, sealedFor(accountId)), lastStep, createdAt: Math.floor(at / 1000) };
    },

    /** The step of a right code. Whether it may be used: `withStep`. */
    async stepOf(accountId: string, { sealed }: OneTimeCodes, { typed, at }: Typed) {
      const secret = open(vault, sealed, sealedFor(accountId));
      // Answered with 503: no code is wrong while the secret can't be read, and none is right.
      if (secret instanceof VaultError) throw new StoreUnavailable({ cause: secret }, secret.message);
      return stepOf(secret, typed, at);
    },
  };
}

/** Seals each with the first encryption key. Resolves with whose secret no configured key opens, and the key that it needs, if that is known. */
export async function rewrapOneTimeCodes(
  factors: Pick<FactorStore, 'list' | 'change'>,
  vault: Pick<Vault, 'needsRewrap' | 'rewrap'>,
): Promise<ReadonlyMap<string, string | undefined>> {
  const unreadable = new Map<string, string | undefined>();
  for (const [id, { oneTimeCode: old }] of await factors.list((damaged) =>
    unreadable.set(damaged, undefined),
  )) {
    if (old === undefined || !vault.needsRewrap(old.sealed)) continue;
    try {
      const sealed = vault.rewrap(old.sealed, sealedFor(id));
      await factors.change(id, ({ oneTimeCode }) =>
        oneTimeCode?.sealed === old.sealed ? { oneTimeCode: { ...oneTimeCode, sealed } } : undefined,
      );
    } catch (error) {
      if (!(error instanceof VaultError || error instanceof FormFault)) throw error;
      unreadable.set(id, 'code' in error && error.code === 'unknown_key' ? error.kekId : undefined);
    }
  }
  return unreadable;
}
