// What signing in with more than a password is made of, for one application.
import { randomBytes } from 'node:crypto';
import { createHalfSignIns } from '../interaction/half-sign-ins.ts';
import type { SecondFactors } from '../interaction/host.ts';
import { Vault } from '../keys/vault.ts';
import type { App } from '../oidc/app.ts';
import { createEnrolment } from '../users/enrolment.ts';
import { createOneTimeCodes } from '../users/one-time-codes.ts';
import { createPasskeyAuthentication } from '../users/passkey-authentication.ts';
import { createPasskeyRegistration } from '../users/passkey-registration.ts';
import { createPasskeySignIn } from '../users/passkey-sign-in.ts';
import { createProveCode } from '../users/second-factor.ts';

/** Undefined where the file says nothing of them. */
export function secondFactorsOf(app: App): SecondFactors | undefined {
  const { config, records, factors, hash, storeNow: now } = app;
  const { signIn, encryptionKeys, branding } = config;
  if (!signIn) return undefined;
  const codes = createOneTimeCodes({
    vault: new Vault(encryptionKeys),
    random: randomBytes,
    issuer: branding.name,
  });
  const isOn = { oneTimeCodes: signIn.oneTimeCodes, recoveryCodes: signIn.recoveryCodes > 0 };
  const passkeys = signIn.passkeys ? createPasskeyAuthentication(app) : undefined;
  return {
    settings: signIn,
    enrolment: createEnrolment({
      factors,
      codes,
      hash,
      now,
      signIn,
      passkeys: signIn.passkeys ? createPasskeyRegistration(app, branding.name) : undefined,
    }),
    halves: createHalfSignIns(records, hash),
    passkeys,
    proveCode: createProveCode({ factors, codes, hash, now, isOn }),
    signInByPasskey: createPasskeySignIn(app, passkeys),
  };
}
