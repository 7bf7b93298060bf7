// The ways to sign in besides the password, as the account page lists them.
import type { SignInSettings } from '../../config/config.ts';
import type { Section, Visitor } from '../../interaction/account-page.ts';
import { hasSecondFactor, type Method } from '../../users/factors.ts';

/** The page that adds a factor. `url`: the page for factors. */
export const addUrlOf = (url: string, method: Method) => `${url}?add=${method}`;

/** An administrator allows the first factor, unless `enrolment` is `self`. Users add further factors themselves. */
export const mayAddFactor = ({ enrolment }: NonNullable<SignInSettings>, { factors }: Visitor) =>
  enrolment === 'self' || hasSecondFactor(factors);

export function methodsSection(signIn: NonNullable<SignInSettings>, url: string): Section {
  return {
    async fields(visitor) {
      const { passkeys, oneTimeCode, recoveryCodes } = visitor.factors;
      const mayAdd = mayAddFactor(signIn, visitor);
      const rowOf = (method: Method, isSetUp: boolean) => {
        const addUrl = mayAdd ? addUrlOf(url, method) : undefined;
        return { method, isSetUp, url: isSetUp ? url : addUrl };
      };
      const left = recoveryCodes.length;
      const codes = { method: 'recovery_codes', isSetUp: left > 0, left, url } as const;
      const methods = [
        ...(signIn.passkeys ? [rowOf('passkey', passkeys.length > 0)] : []),
        ...(signIn.oneTimeCodes ? [rowOf('one_time_code', oneTimeCode !== undefined)] : []),
        ...(signIn.recoveryCodes > 0 && hasSecondFactor(visitor.factors) ? [codes] : []),
      ];
      return { factorsUrl: url, methods };
    },
  };
}
