// Checks whether a code proves a user's second factor. Attempts are counted before the check. The caller's write uses up the code.
import { randomBytes, randomInt } from 'node:crypto';
import type { KeyedHash } from '../../store/keyed-hash.ts';
import { type Clock, StoreUnavailable } from '../../store/store.ts';
import type { Proof } from './proofs.ts';
import {
  type FactorStore,
  type Factors,
  type OneTimeCodes,
  type PreparedFactors,
  forgiven,
  isProvisional,
  sealedFor,
} from '../../users/factors.ts';
import { withNotice } from './notices.ts';
import { type Vault, VaultError } from '../../keys/vault.ts';

// One-time codes of an authenticator app (TOTP, RFC 6238): six digits of HMAC-SHA-1, every 30 seconds, as all apps support them.

const PERIOD_SECONDS = 30;
/** RFC 4226 §4: 160 bits. */
const SECRET_BYTES = 20;
/** RFC 6238 §5.2: one step either side, for clocks that differ and codes typed slowly. */
const DRIFT = 1;

/** The setup of an authenticator app: a QR code, and text for users who can't scan it. */
type NewOneTimeCodes = Readonly<{
  /** In base32. */
  secret: string;
  uri: string;
  /** QR code of `uri`, as a data URL. */
  qr: string;
  /** The encrypted secret, for the form that confirms it. Nothing is stored before a code was right. */
  sealed: string;
}>;

/** More steps than a user uses while a clock is ahead. */
const KEPT_STEPS = 50;

/**
 * The codes after `step` was used at `at` (epoch milliseconds). Undefined: it, or a newer one, was used before (RFC 6238 §5.2). A used step
 * that lies ahead of now, because a clock was ahead, only counts as used itself.
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
  /** The name that the app shows for the codes. */
  issuer: string;
}>;

const pendingFor = (accountId: string) => `new one-time codes of ${accountId}`;

/** Accepts full-width digits and spaces. Undefined: it isn't a code. */
function digitsOf(typed: string): string | undefined {
  const digits = typed.normalize('NFKC').replaceAll(/\s/g, '');
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

/** Resolves the step of the code `typed`, at `at` (epoch milliseconds) or one step off. */
async function stepOf(secret: Buffer, typed: string, at: number): Promise<number | undefined> {
  const { Secret, TOTP } = await import('otpauth');
  const token = digitsOf(typed);
  if (token === undefined) return undefined;
  // Copied, because a Buffer is often a view of a pool.
  const totp = new TOTP({
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    period: PERIOD_SECONDS,
  });
  const delta = totp.validate({ token, timestamp: at, window: DRIFT });
  return delta === null ? undefined : stepAt(at) + delta;
}

/** Returns the vault's error if the text was altered, is another user's, or needs a key that is missing. */
function open(vault: Pick<Vault, 'open'>, sealed: string, aad: string): Buffer | VaultError {
  try {
    return vault.open(sealed, aad, `the secret of ${aad}`);
  } catch (error) {
    if (error instanceof VaultError) return error;
    throw error;
  }
}

export function createOneTimeCodes({ vault, issuer }: OneTimeCodesParts) {
  return {
    /** `pending`: the sealed secret of a form whose code was wrong. It is reused, so that the app which has it still works. */
    async make(accountId: string, username: string, pending = ''): Promise<NewOneTimeCodes> {
      const [{ Secret, TOTP }, { renderSVG }] = await Promise.all([import('otpauth'), import('uqr')]);
      const known = open(vault, pending, pendingFor(accountId));
      const bytes = known instanceof VaultError ? randomBytes(SECRET_BYTES) : known;
      const secret = new Secret({ buffer: new Uint8Array(bytes).buffer });
      const uri = new TOTP({ issuer, label: username, secret, period: PERIOD_SECONDS }).toString();
      return {
        secret: secret.base32,
        uri,
        qr: `data:image/svg+xml;base64,${Buffer.from(renderSVG(uri, { border: 4, ecc: 'M' })).toString('base64')}`,
        sealed: vault.seal(bytes, pendingFor(accountId)),
      };
    },

    /** `sealed`: from the form. Uses up the code that confirms it. Resolves undefined if the code is wrong. */
    async confirm(
      accountId: string,
      { sealed, typed, at }: Typed & { readonly sealed: string },
    ): Promise<OneTimeCodes | undefined> {
      const secret = open(vault, sealed, pendingFor(accountId));
      const lastStep = secret instanceof VaultError ? undefined : await stepOf(secret, typed, at);
      if (secret instanceof VaultError || lastStep === undefined) return undefined;
      return { sealed: vault.seal(secret, sealedFor(accountId)), lastStep, createdAt: Math.floor(at / 1000) };
    },

    /** Resolves the step of a right code. `withStep` decides whether it may be used. */
    async stepOf(accountId: string, { sealed }: OneTimeCodes, { typed, at }: Typed) {
      const secret = open(vault, sealed, sealedFor(accountId));
      // Answered with 503, because no code is right or wrong while the secret can't be read.
      if (secret instanceof VaultError) throw new StoreUnavailable({ cause: secret }, secret.message);
      return stepOf(secret, typed, at);
    },
  };
}

// Recovery codes: 120 random bits each, shown once, stored as keyed hashes bound to the user. From 112 bits on, they can't be
// guessed, however fast the hash is (OWASP ASVS 6.5.2).

/** Crockford's base32: without I, L, O and U. */
const SIGNS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns a code such as `7K2M-9XQT-…`, six groups of four. */
export function newRecoveryCode(): string {
  const signs = Array.from({ length: 24 }, () => SIGNS.charAt(randomInt(SIGNS.length)));
  return signs.join('').replaceAll(/.{4}(?=.)/g, '$&-');
}

/** The hash that is stored. Ignores case, spaces and hyphens, and accepts letters that look like digits. */
export function recoveryCodeHash(hash: KeyedHash, accountId: string, typed: string): string {
  const code = typed
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[\s\p{Pd}]/gu, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  return hash(`recovery code:${accountId}:${code}`);
}

/** A code that was typed into one of two fields. */
export type TypedCode = Readonly<{
  accountId: string;
  method: 'one_time_code' | 'recovery_code';
  typed: string;
  /** The user has signed in from this browser before. */
  isTrusted?: boolean | undefined;
}>;

type ProvedCode = PreparedFactors & { readonly proof: Proof };
/** Wrong codes in a row. `isLocked`: no more are checked. `isNews`: the user is notified now. */
export type FailedCodes = { readonly failures: number; readonly isLocked: boolean; readonly isNews: boolean };

/** NIST SP 800-63B-4 §3.2.2: 100 wrong codes in a row. Unknown browsers can't use up the last twenty. */
const CAPS = { unknown: 80, trusted: 100 };
/** Each count is an event of the account, and from the second on also a notice. */
const TOLD_AT = [5, 25, CAPS.unknown, CAPS.trusted];

type SecondFactorParts = Readonly<{
  factors: FactorStore;
  codes: Pick<ReturnType<typeof createOneTimeCodes>, 'stepOf'>;
  hash: KeyedHash;
  now: Clock;
  /** The methods that are on. */
  isOn: { readonly oneTimeCodes: boolean; readonly recoveryCodes: boolean };
}>;

export function createProveCode({ factors, codes, hash, now, isOn }: SecondFactorParts) {
  async function useOneTimeCode({ accountId, typed, isTrusted = false }: TypedCode) {
    const { oneTimeCode } = await factors.get(accountId);
    if (!isOn.oneTimeCodes || oneTimeCode === undefined) return undefined;
    const at = now();
    const step = await codes.stepOf(accountId, oneTimeCode, { typed, at });
    const cap = isTrusted ? CAPS.trusted : CAPS.unknown;
    let failures = cap;
    function count({ oneTimeCode: before, notices }: Factors): Partial<Factors> | undefined {
      failures = before?.failures ?? 0;
      if (before === undefined || failures >= cap) return undefined;
      if (step !== undefined) {
        const used = before.sealed === oneTimeCode?.sealed ? withStep(before, step, at) : undefined;
        return used && { oneTimeCode: { ...used, failures: undefined } };
      }
      failures += 1;
      const notice = { what: 'codes_failed', at: Math.floor(at / 1000) } as const;
      const told = TOLD_AT.indexOf(failures) > 0 && { notices: withNotice(notices, notice) };
      return { oneTimeCode: { ...before, failures }, ...told };
    }
    // The write decides, across all processes, and nothing is revealed about the code before it (RFC 6238 §5.2).
    const proved = step === undefined ? undefined : await factors.prepare(accountId, count);
    if (proved !== undefined) return proved;
    const counted = step === undefined ? await factors.change(accountId, count) : undefined;
    const isNews = counted !== undefined && TOLD_AT.includes(failures);
    return isNews || failures >= cap ? { failures, isLocked: failures >= cap, isNews } : undefined;
  }

  async function useRecoveryCode({ accountId, typed }: TypedCode): Promise<PreparedFactors | undefined> {
    if (!isOn.recoveryCodes) return undefined;
    const hashed = recoveryCodeHash(hash, accountId, typed);
    return factors.prepare(accountId, ({ recoveryCodes, notices, ...own }) => {
      if (!recoveryCodes.includes(hashed)) return undefined;
      const left = recoveryCodes.filter((one) => one !== hashed);
      const notice = { what: 'recovery_code_used', at: Math.floor(now() / 1000), left: left.length } as const;
      return { ...forgiven(own), recoveryCodes: left, notices: withNotice(notices, notice) };
    });
  }

  /**
   * Resolves undefined or FailedCodes if the code is wrong or was used before. Counts a wrong code; the caller's write uses up a right one.
   * Throws StoreUnavailable, also if the secret can't be decrypted.
   */
  return async function proveCode(code: TypedCode): Promise<ProvedCode | FailedCodes | undefined> {
    const use = code.method === 'one_time_code' ? useOneTimeCode : useRecoveryCode;
    const proved = await use(code);
    if (proved === undefined || 'failures' in proved) return proved;
    const { oneTimeCode } = proved.factors;
    const isTooNew = oneTimeCode !== undefined && isProvisional(oneTimeCode, now() / 1000);
    return { ...proved, proof: isTooNew ? 'recovery_code' : code.method };
  };
}
