// What signing in with more than a password is made of, for one application.
import { randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { createHalfSignIns } from '../interaction/half-sign-ins.ts';
import type { Host, SecondFactors } from '../interaction/host.ts';
import { Vault } from '../keys/vault.ts';
import type { UnitOfWork } from '../store/unit-of-work.ts';
import { createEnrolment } from '../users/enrolment.ts';
import { createFactorStore } from '../users/factors.ts';
import { createOneTimeCodes } from '../users/one-time-codes.ts';
import { createPasskeyAuthentication } from '../users/passkey-authentication.ts';
import { createPasskeyRegistration } from '../users/passkey-registration.ts';
import { createPasskeySignIn } from '../users/passkey-sign-in.ts';
import { createProveCode } from '../users/second-factor.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, Store } from '../store/store.ts';

/** Undefined where the file says nothing of them. */
export function secondFactorsOf(
  { issuer, signIn, encryptionKeys, branding }: Config,
  { store, hash, now }: { readonly store: Store; readonly hash: KeyedHash; readonly now: Clock },
  records: UnitOfWork,
  { limits, accounts, trustedBrowsers }: Pick<Host, 'limits' | 'accounts' | 'trustedBrowsers'>,
): SecondFactors | undefined {
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
    settings: signIn,
    enrolment: createEnrolment({ ...made, passkeys: signIn.passkeys ? registration : undefined }),
    factors,
    halves: createHalfSignIns(records, hash),
    passkeys,
    proveCode: createProveCode({ factors, codes, hash, now: store.clock.now, isOn }),
    signInByPasskey: createPasskeySignIn({ accounts, passkeys, limits, trustedBrowsers, now }),
  };
}
