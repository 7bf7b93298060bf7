// What a user proved at a sign-in, as `amr` (RFC 8176 §2), and how strong that is.
import type { Level } from '../config/sign-in-levels.ts';

export type Proof =
  | 'password'
  | 'one_time_code'
  | 'recovery_code'
  | { readonly passkey: { readonly verifiedUser: boolean; readonly synced: boolean } };

/** Values of `amr`. Undefined of what was signed in before there were any. */
export type Amr = readonly string[];

const PASSWORD = 'pwd';
const HARDWARE = 'hwk';
const SOFTWARE = 'swk';
const USER = 'user';
const OF_KEYS: Amr = [HARDWARE, SOFTWARE, USER];
const SEVERAL = 'mfa';
const CODE = 'otp';

/** Of a session that knows none. */
export const BY_PASSWORD: Amr = [PASSWORD];

/** In the order of the proofs. A passkey that verified its user is two factors by itself. */
export function amrOf(proofs: readonly Proof[]): Amr {
  const methods = proofs.flatMap((proof) => {
    if (proof === 'password') return [PASSWORD];
    if (proof === 'one_time_code') return [CODE];
    // RFC 8176 has no name for it.
    if (proof === 'recovery_code') return [];
    const { verifiedUser, synced } = proof.passkey;
    return [synced ? SOFTWARE : HARDWARE, ...(verifiedUser ? [USER] : [])];
  });
  const isSeveral = proofs.length > 1 || methods.includes(USER) || proofs.includes('recovery_code');
  return isSeveral ? [...methods, SEVERAL] : methods;
}

/** Of a sign-in that was stepped up. A passkey is as old as its own proof: a weaker one, which is newer, says nothing of it. */
export function withProof(amr: Amr, proof: Proof): Amr {
  if (proof === 'recovery_code') return [...amr.filter((one) => one === PASSWORD), SEVERAL];
  const proved = amrOf([proof]);
  const before = levelOf(proved) === 'passkey' ? amr : amr.filter((one) => !OF_KEYS.includes(one));
  const methods = [...before, ...proved].filter((one) => one !== SEVERAL);
  return [...new Set(methods), SEVERAL];
}

/** Of a passkey or a security key. */
export const hasKey = (amr: Amr) => amr.includes(HARDWARE) || amr.includes(SOFTWARE);

/** A security key that doesn't verify its user is a second factor, as a code is. */
export function levelOf(amr: Amr = []): Level {
  if (hasKey(amr) && amr.includes(USER)) return 'passkey';
  return amr.includes(SEVERAL) ? 'second_factor' : 'password';
}

/** Whether a recovery code, or a provisional factor (factors.ts), stood in for the second factor. */
export const isRecovered = (amr: Amr): boolean =>
  amr.includes(SEVERAL) && !amr.includes(CODE) && !hasKey(amr);
