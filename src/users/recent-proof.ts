// What a session has to have proved before its person's factors or password change (NIST SP 800-63B-4 §4.1.2, ASVS 7.5.1).
import { type Amr, levelOf } from './authentication-methods.ts';
import { type Factors, hasSecondFactor } from './factors.ts';

const FRESH_SECONDS = 300;

/** `issued` has the time of the first factor, `factorAt` is that of the last second factor. */
type Proved = {
  readonly amr: Amr;
  readonly issued: { readonly at: number } | undefined;
  readonly factorAt?: number | undefined;
};

/** Both factors lately. A passkey that verified its user is both. `at`: epoch seconds. */
export function isFresh({ amr, issued, factorAt }: Proved, own: Factors, at: number): boolean {
  const isLate = (time = 0) => at - time > FRESH_SECONDS;
  if (hasSecondFactor(own) && isLate(factorAt)) return false;
  return (hasSecondFactor(own) && levelOf(amr) === 'passkey') || !isLate(issued?.at);
}
