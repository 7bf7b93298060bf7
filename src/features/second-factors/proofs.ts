// What a user proved at a sign-in, as `amr`.
import { type Amr, hasKey, levelOf, METHODS } from '../../users/authentication-methods.ts';

export type Proof =
  | 'password'
  | 'one_time_code'
  | 'recovery_code'
  | { readonly passkey: Readonly<{ verifiedUser: boolean; synced: boolean }> };

/** Methods in the order of the proofs. A passkey that verified its user is two factors by itself. */
export function amrOf(proofs: readonly Proof[]): Amr {
  const methods = proofs.flatMap((proof) => {
    if (proof === 'password') return [METHODS.password];
    if (proof === 'one_time_code') return [METHODS.code];
    // RFC 8176 has no name for it.
    if (proof === 'recovery_code') return [];
    const { verifiedUser, synced } = proof.passkey;
    return [synced ? METHODS.software : METHODS.hardware, ...(verifiedUser ? [METHODS.user] : [])];
  });
  const isSeveral = proofs.length > 1 || methods.includes(METHODS.user) || proofs.includes('recovery_code');
  return isSeveral ? [...methods, METHODS.several] : methods;
}

const OF_KEYS: Amr = [METHODS.hardware, METHODS.software, METHODS.user];

/** Methods after a step-up. A weaker, newer proof removes an earlier passkey, because it doesn't renew the passkey's proof. */
export function withProof(amr: Amr, proof: Proof): Amr {
  if (proof === 'recovery_code') return [...amr.filter((one) => one === METHODS.password), METHODS.several];
  const proved = amrOf([proof]);
  const before = levelOf(proved) === 'passkey' ? amr : amr.filter((one) => !OF_KEYS.includes(one));
  const methods = [...before, ...proved].filter((one) => one !== METHODS.several);
  return [...new Set(methods), METHODS.several];
}

/** Whether a recovery code, or a provisional factor (users/factors.ts), replaced the second factor. */
export const isRecovered = (amr: Amr) =>
  amr.includes(METHODS.several) && !amr.includes(METHODS.code) && !hasKey(amr);
