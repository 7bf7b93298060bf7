// How a user signed in, as `amr` (RFC 8176 §2), and the level that this reaches.
import type { Level } from '../config/sign-in-levels.ts';

/** Values of `amr`. Undefined for sign-ins from before they were stored. */
export type Amr = readonly string[];

/** The names of methods in RFC 8176. */
export const METHODS = {
  password: 'pwd',
  hardware: 'hwk',
  software: 'swk',
  user: 'user',
  several: 'mfa',
  code: 'otp',
} as const;

/** For a session without stored methods. */
export const BY_PASSWORD: Amr = [METHODS.password];

/** Whether a passkey or a security key was used. */
export const hasKey = (amr: Amr) => amr.includes(METHODS.hardware) || amr.includes(METHODS.software);

/** A security key that doesn't verify its user counts as a second factor, like a code. */
export function levelOf(amr: Amr = []): Level {
  if (hasKey(amr) && amr.includes(METHODS.user)) return 'passkey';
  return amr.includes(METHODS.several) ? 'second_factor' : 'password';
}
