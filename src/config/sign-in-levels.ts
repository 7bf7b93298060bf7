// How strong a sign-in is, from a password alone to a passkey, and what tokens call that in `acr` (OIDC Core §2).
import type { SignInSettings } from './config.ts';

/** From weak to strong: each level includes those before it. */
export const LEVELS = ['password', 'second_factor', 'passkey'] as const;
export type Level = (typeof LEVELS)[number];

export type Levels = NonNullable<ReturnType<typeof levelsOf>>;

export const reaches = (level: Level, wanted: Level) => LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);

const NAMES: Readonly<Record<Level, string>> = {
  password: 'urn:postern:acr:password',
  second_factor: 'urn:postern:acr:second-factor',
  passkey: 'urn:postern:acr:passkey',
};

/** Undefined if the file has no `sign_in`: tokens then have no `acr`. */
export function levelsOf({ signIn }: { readonly signIn?: SignInSettings }) {
  if (!signIn) return undefined;
  const isOn: Readonly<Record<Level, boolean>> = {
    password: true,
    second_factor: signIn.passkeys || signIn.oneTimeCodes,
    passkey: signIn.passkeys,
  };
  const offered = LEVELS.filter((level) => isOn[level]);
  return {
    /** The levels that users can reach with the enabled methods. */
    offered,
    nameOf: (level: Level) => NAMES[level],
    levelNamed: (name: string) => offered.find((level) => NAMES[level] === name),
  };
}
