// One-time codes of an authenticator app (TOTP, RFC 6238): six digits of HMAC-SHA-1, every 30 seconds, as all apps support them.
import { randomBytes } from 'node:crypto';
import { type Vault, VaultError } from '../../keys/vault.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { type OneTimeCodes, sealedFor } from '../../users/factors.ts';

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
type Typed = Readonly<{ typed: string; at: number }>;

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
