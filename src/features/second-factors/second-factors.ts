// The parts of this feature, for one application.
import type { SignInSettings } from '../../config/config.ts';
import { Vault } from '../../keys/vault.ts';
import type { App } from '../../oidc/app.ts';
import { createEnrolment } from './enrolment.ts';
import { createOneTimeCodes } from './one-time-codes.ts';
import { createPasskeyAuthentication } from './passkey-authentication.ts';
import { createProveCode } from './prove-code.ts';
import { createPasskeyRegistration } from './passkeys.ts';
import { parseJsonObject } from '../../config/parse-fields.ts';
import { isWhole } from '../../store/shape.ts';
import type { PendingSignIn } from '../../interaction/pending-sign-in.ts';

/** Named as in stores of earlier versions. */
const KIND = 'HalfSignIn';
/** After this time, the password is asked for again. */
const SECONDS = 300;

/** Records beside the interaction: no session is created before the second factor, and any process can continue. */
function createPendingSignIns({ records, hash }: App) {
  const keyOf = (uid: string) => hash(`half sign-in:${uid}`);
  return {
    async begin(uid: string, signIn: PendingSignIn): Promise<void> {
      const payload = JSON.stringify(signIn);
      await records.save({ kind: KIND, key: keyOf(uid), payload, ttlSeconds: SECONDS });
    },
    async find(uid: string): Promise<PendingSignIn | undefined> {
      const record = await records.find(KIND, keyOf(uid));
      const found = record && parseJsonObject(record.payload);
      return isWhole(found, ['accountId', 'username', 'issued', 'attempt'])
        ? (found as PendingSignIn | undefined)
        : undefined;
    },
    async end(uid: string): Promise<void> {
      await records.destroy(KIND, keyOf(uid));
    },
  };
}

export type SecondFactors = ReturnType<typeof secondFactorsOf>;

export function secondFactorsOf(app: App, signIn: NonNullable<SignInSettings>) {
  const { config, factors, hash, storeNow: now } = app;
  const { encryptionKeys, branding } = config;
  const codes = createOneTimeCodes({ vault: new Vault(encryptionKeys), issuer: branding.name });
  const isOn = { oneTimeCodes: signIn.oneTimeCodes, recoveryCodes: signIn.recoveryCodes > 0 };
  return {
    settings: signIn,
    enrolment: createEnrolment({
      ...app,
      codes,
      now,
      signIn,
      passkeys: signIn.passkeys ? createPasskeyRegistration(app, branding.name) : undefined,
    }),
    pendingSignIns: createPendingSignIns(app),
    /** Undefined while passkeys are off. */
    passkeys: signIn.passkeys ? createPasskeyAuthentication(app) : undefined,
    proveCode: createProveCode({ factors, codes, hash, now, isOn }),
  };
}
