// What a session has to have proved before its user's factors or password change (NIST SP 800-63B-4 §4.1.2, ASVS 7.5.1).
import type { SignInSettings } from '../config/config.ts';
import { type Amr, hasKey, isRecovered, levelOf } from './authentication-methods.ts';
import { canReach, type Factors, hasSecondFactor, isProvisional } from './factors.ts';

const FRESH_SECONDS = 300;

/** `issued` has the time of the first factor, `factorAt` is that of the last second factor. */
type Proved = Readonly<{
  amr: Amr;
  issued: { readonly at: number } | undefined;
  factorAt?: number | undefined;
}>;

/** Both factors lately. A passkey that verified its user is both. `at`: epoch seconds. */
export function isFresh({ amr, issued, factorAt }: Proved, own: Factors, at: number): boolean {
  const isLate = (time = 0) => at - time > FRESH_SECONDS;
  if (hasSecondFactor(own) && isLate(factorAt)) return false;
  return (hasSecondFactor(own) && levelOf(amr) === 'passkey') || !isLate(issued?.at);
}

/** A user who has a passkey changes their factors with it, or after a recovery. */
export function mayChangeFactors(signIn: SignInSettings, { amr }: Proved, own: Factors, at: number) {
  if (isRecovered(amr)) return true;
  // With a provisional one alone, the owner can still remove it by a code.
  const passkeys = own.passkeys.filter((one) => !isProvisional(one, at));
  const keys = { ...own, passkeys, oneTimeCode: undefined };
  if (canReach(signIn, keys, 'passkey', at)) return levelOf(amr) === 'passkey';
  return hasKey(amr) || !canReach(signIn, keys, 'second_factor', at);
}
