// What a new password has to be (NIST SP 800-63B-4 §3.1.1.2), and the one form in which passwords are hashed. Existing passwords
// are not judged.

/** Longer ones are refused before any work is done on them. */
export const MAX_PASSWORD_LENGTH = 1024;

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

/** What is wrong with a new password, or nothing. Never repeats it. */
export async function passwordFault(typed: string, context: PasswordContext): Promise<string | undefined> {
  const password = normalizePassword(typed);
  // > Each Unicode code point SHALL be counted as a single character
  if (Array.from(password).length < context.minLength) {
    return `the password must have at least ${context.minLength} characters: a few words are fine`;
  }
  if (password.length > MAX_PASSWORD_LENGTH || typed.length > MAX_PASSWORD_LENGTH) {
    return `the password must have at most ${MAX_PASSWORD_LENGTH} characters`;
  }
  return (await isGuessable(password, context))
    ? 'the password is one of the first that somebody would guess (a common one, a row of keys, the name of the person or of the service): take another one'
    : undefined;
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
  });
  return (password) => zxcvbn.check(password).guessesLog10;
}
