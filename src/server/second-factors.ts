// What signing in with more than a password is made of, for one application.
import { randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { Csrf } from '../interaction/csrf.ts';
import { createHalfSignIns } from '../interaction/half-sign-ins.ts';
import { toPasskeyForm } from '../interaction/passkey-attempt.ts';
import { createShowSecondStep } from '../interaction/show-second-step.ts';
import { Vault } from '../keys/vault.ts';
import type { Limits } from '../limits/limits.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import type { UnitOfWork } from '../store/unit-of-work.ts';
import type { Accounts } from '../users/accounts.ts';
import { createEnrolment } from '../users/enrolment.ts';
import { createFactorStore } from '../users/factors.ts';
import { createOneTimeCodes } from '../users/one-time-codes.ts';
import { createPasskeyAuthentication } from '../users/passkey-authentication.ts';
import { createPasskeyRegistration } from '../users/passkey-registration.ts';
import { createPasskeySignIn } from '../users/passkey-sign-in.ts';
import { createProveCode } from '../users/second-factor.ts';
import type { TrustedBrowsers } from '../users/trusted-browsers.ts';
import type { Pages } from '../views/pages.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, Store } from '../store/store.ts';

type SecondFactorsParts = {
  readonly accounts: Accounts;
  readonly trustedBrowsers: TrustedBrowsers;
  readonly records: UnitOfWork;
  readonly limits: Limits;
  readonly pages: Pages;
  readonly csrf: Csrf;
};

/** Undefined where the file says nothing of them. */
export function secondFactorsOf(
  { issuer, signIn, encryptionKeys, branding }: Config,
  { store, hash, now }: { readonly store: Store; readonly hash: KeyedHash; readonly now: Clock },
  { records, limits, accounts, trustedBrowsers, pages, csrf }: SecondFactorsParts,
) {
  if (signIn === undefined) return undefined;
  const factors = createFactorStore(store.documents, hash, records.documents);
  const vault = new Vault(encryptionKeys);
  const codes = createOneTimeCodes({ vault, random: randomBytes, issuer: branding.name });
  const isOn = { oneTimeCodes: signIn.oneTimeCodes, recoveryCodes: signIn.recoveryCodes > 0 };
  const ofPasskeys = { issuer, factors, hash, now };
  const passkeys = signIn.passkeys ? createPasskeyAuthentication(ofPasskeys) : undefined;
  const registration = createPasskeyRegistration({
    ...ofPasskeys,
    serviceName: branding.name,
    random: randomBytes,
  });
  const made = { signIn, factors, codes, hash, random: randomBytes, now: store.clock.now };
  return {
    signIn,
    pages,
    enrolment: createEnrolment({ ...made, passkeys: signIn.passkeys ? registration : undefined }),
    accounts,
    factors,
    halves: createHalfSignIns(records, hash),
    limits,
    passkeys,
    proveCode: createProveCode({ factors, codes, hash, now: store.clock.now, isOn }),
    signInByPasskey: createPasskeySignIn({ accounts, passkeys, limits, trustedBrowsers, now }),
    showStep: createShowSecondStep({ issuer, signIn, passkeys, pages, csrf, now }),
    passkeyForm: passkeys && ((interaction: OpenInteraction) => toPasskeyForm(passkeys, csrf, interaction)),
    trustedBrowsers,
    now,
  };
}
