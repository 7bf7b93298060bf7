// How a user signed in, as `amr` (RFC 8176 §2), and how strong that is.
import type { Level } from '../config/sign-in-levels.ts';

/** Values of `amr`. Undefined of what was signed in before there were any. */
export type Amr = readonly string[];

/** By their names in RFC 8176. */
export const METHODS = {
  password: 'pwd',
  hardware: 'hwk',
  software: 'swk',
  user: 'user',
  several: 'mfa',
  code: 'otp',
} as const;

/** Of a session that knows none. */
export const BY_PASSWORD: Amr = [METHODS.password];

/** Of a passkey or a security key. */
export const hasKey = (amr: Amr) => amr.includes(METHODS.hardware) || amr.includes(METHODS.software);

/** A security key that doesn't verify its user is a second factor, as a code is. */
export function levelOf(amr: Amr = []): Level {
  if (hasKey(amr) && amr.includes(METHODS.user)) return 'passkey';
  return amr.includes(METHODS.several) ? 'second_factor' : 'password';
}
