// The `amr` values of each way to sign in, and its level.
import { describe, expect, it } from 'vitest';
import { levelOf } from '../../../src/users/authentication-methods.ts';
import { amrOf, isRecovered, type Proof } from '../../../src/features/second-factors/proofs.ts';

const key = (verifiedUser: boolean, synced: boolean): Proof => ({ passkey: { verifiedUser, synced } });

describe('a sign-in', () => {
  it.each([
    ['a password', ['password'], 'pwd', 'password'],
    ['a password and a one-time code', ['password', 'one_time_code'], 'pwd otp mfa', 'second_factor'],
    ['a password and a recovery code', ['password', 'recovery_code'], 'pwd mfa', 'second_factor'],
    ['a password and a security key', ['password', key(false, false)], 'pwd hwk mfa', 'second_factor'],
    ['a passkey', [key(true, false)], 'hwk user mfa', 'passkey'],
    ['a synced passkey', [key(true, true)], 'swk user mfa', 'passkey'],
    ['a password and a passkey', ['password', key(true, true)], 'pwd swk user mfa', 'passkey'],
    // The service offers no such sign-in: the level must not be higher than this.
    ['a security key alone', [key(false, false)], 'hwk', 'password'],
  ] satisfies (readonly [string, readonly Proof[], string, string])[])(
    'MF-35: by %s says what was done',
    (_way, proofs, amr, level) => {
      expect(amrOf(proofs).join(' ')).toBe(amr);
      expect(levelOf(amrOf(proofs))).toBe(level);
      expect(isRecovered(amrOf(proofs))).toBe(proofs.includes('recovery_code'));
    },
  );

  it('of before there was any amr was one by password', () => {
    expect(levelOf(undefined)).toBe('password');
  });
});
