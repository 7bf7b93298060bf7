// What a new password has to be (NIST SP 800-63B-4 §3.1.1.2), and the one form in which passwords are hashed. Existing passwords
// are not judged.
import type { Config } from '../config/config.ts';

/** Longer ones are refused before any work is done on them. */
export const MAX_PASSWORD_LENGTH = 1024;

/** The estimate takes time by the square of the length, and these decide it. */
const MAX_JUDGED_LENGTH = 100;

/** What is known of who a password is for. */
export type PasswordContext = {
  /** Code points, at least. */
  readonly minLength: number;
  readonly username: string;
  /** Names of the service: what the page shows is no password. */
  readonly serviceNames: readonly string[];
};

/** NFKC: an accent or a wide letter is one password, whichever way a keyboard writes it. */
export function normalizePassword(typed: string): string {
  return typed.normalize('NFKC');
}

/** What a typed password may have been hashed as: normalized, and as it is, which hashes from elsewhere may be of. */
export function passwordForms(typed: string): readonly string[] {
  return [...new Set([normalizePassword(typed), typed])];
}

/** Who a new password is for, by the configuration. */
export function passwordContext(
  { passwords, branding, issuer }: Pick<Config, 'passwords' | 'branding' | 'issuer'>,
  username: string,
): PasswordContext {
  return { ...passwords, username, serviceNames: [branding.name, new URL(issuer).hostname] };
}

export const PASSWORD_FAULTS = ['too_short', 'too_long', 'guessable'] as const;
export type PasswordFault = (typeof PASSWORD_FAULTS)[number];

/** What is wrong with a new password, or nothing. */
export async function judgePassword(
  typed: string,
  context: PasswordContext,
): Promise<PasswordFault | undefined> {
  const password = normalizePassword(typed);
  // > Each Unicode code point SHALL be counted as a single character
  if (Array.from(password).length < context.minLength) return 'too_short';
  if (password.length > MAX_PASSWORD_LENGTH || typed.length > MAX_PASSWORD_LENGTH) return 'too_long';
  return (await isGuessable(password, context)) ? 'guessable' : undefined;
}

/** The same in words, for an operator. Never repeats the password. */
export async function passwordFault(typed: string, context: PasswordContext): Promise<string | undefined> {
  const fault = await judgePassword(typed, context);
  if (fault === undefined) return undefined;
  return {
    too_short: `the password must have at least ${context.minLength} characters: a few words are fine`,
    too_long: `the password must have at most ${MAX_PASSWORD_LENGTH} characters`,
    guessable:
      'the password is one of the first that somebody would guess (a common one, a row of keys, the name of the person or of the service): take another one',
  }[fault];
}

/** Refused below ten thousand million guesses; in proportion where shorter passwords are allowed. */
const leastGuessesLog10 = (minLength: number) => Math.min(10, (10 / 15) * minLength);

async function isGuessable(password: string, context: PasswordContext): Promise<boolean> {
  const { minLength, username, serviceNames } = context;
  estimator ??= loadEstimator();
  const estimate = await estimator;
  // > Context-specific words, such as the name of the service, the username, and derivatives thereof
  const names = [username, ...serviceNames].filter((name) => name.length > 2);
  const rest = names.reduce(
    (text, name) => text.replaceAll(normalizePassword(name).toLowerCase(), ''),
    password.toLowerCase(),
  );
  return [...new Set([password, rest])].some((form) => estimate(form) < leastGuessesLog10(minLength));
}

/** The decimal logarithm of the guesses that a password takes. */
type Estimate = (password: string) => number;

let estimator: Promise<Estimate> | undefined;

/** Reads 9 MB of dictionaries, so only where a new password is set: never at a sign-in and never at a start. */
async function loadEstimator(): Promise<Estimate> {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ]);
  const zxcvbn = new ZxcvbnFactory({
    dictionary: { ...common.dictionary, ...english.dictionary },
    graphs: common.adjacencyGraphs,
    maxLength: MAX_JUDGED_LENGTH,
  });
  return (password) => zxcvbn.check(password).guessesLog10;
}
