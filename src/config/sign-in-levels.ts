// How strong a sign-in is, from a password alone to a passkey, and what tokens call that in `acr` (OIDC Core §2).
import type { Config } from './config.ts';
import { acrSchema } from './schema-sign-in.ts';

/** From weak to strong: each has what those before it have. */
export const LEVELS = ['password', 'second_factor', 'passkey'] as const;
export type Level = (typeof LEVELS)[number];

export type Levels = NonNullable<ReturnType<typeof levelsOf>>;

export const reaches = (level: Level, wanted: Level): boolean =>
  LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);

const DEFAULT_NAMES: NonNullable<Config['acr']> = acrSchema.parse({});

/** Undefined: the file says nothing of either, and tokens say nothing of sign-ins. */
export function levelsOf({ signIn, acr }: Pick<Config, 'signIn' | 'acr'>) {
  if (signIn === undefined && acr === undefined) return undefined;
  const { password, secondFactor, passkey } = acr ?? DEFAULT_NAMES;
  const names: Readonly<Record<Level, string>> = { password, second_factor: secondFactor, passkey };
  const isOn: Readonly<Record<Level, boolean>> = {
    password: true,
    second_factor: signIn?.passkeys === true || signIn?.oneTimeCodes === true,
    passkey: signIn?.passkeys === true,
  };
  const offered = LEVELS.filter((level) => isOn[level]);
  return {
    /** What somebody can reach by the methods that are on. */
    offered,
    /** The `acr` of a level. */
    nameOf: (level: Level) => names[level],
    /** The offered level that has this `acr`. */
    levelNamed: (name: string) => offered.find((level) => names[level] === name),
  };
}
