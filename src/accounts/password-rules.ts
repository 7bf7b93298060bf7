// What a new password has to be (NIST SP 800-63B-4 §3.1.1.2), and the one form in which passwords are hashed. Owns the
// rules: a length, a list of what is guessed first, and nothing about which characters. Passwords that exist are not judged.
import { COMMON_PASSWORDS } from './expected-passwords.ts';

/** Longer ones are refused before any work is done on them. */
export const MAX_PASSWORD_LENGTH = 1024;

/** What is known of who a password is for. */
export type PasswordContext = {
  /** Code points, at least. */
  readonly minLength: number;
  readonly username: string;
  /** Names of the service: nobody's password is what the page says. */
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
export function passwordFault(typed: string, context: PasswordContext): string | undefined {
  const password = normalizePassword(typed);
  // > Each Unicode code point SHALL be counted as a single character
  if (Array.from(password).length < context.minLength) {
    return `the password must have at least ${context.minLength} characters: a few words are fine`;
  }
  if (password.length > MAX_PASSWORD_LENGTH || typed.length > MAX_PASSWORD_LENGTH) {
    return `the password must have at most ${MAX_PASSWORD_LENGTH} characters`;
  }
  return isExpected(password, context)
    ? 'the password is one of the first that somebody would guess (a common one, a row of keys, the name of the person or of the service): take another one'
    : undefined;
}

const COMMON = new Set(COMMON_PASSWORDS);

/** The whole password is compared with what is expected; what it contains doesn't matter. */
function isExpected(password: string, { username, serviceNames }: PasswordContext): boolean {
  const own = [username, ...serviceNames].map(toBare).filter((name) => name.length > 2);
  const lower = password.toLowerCase();
  return [lower, undoSubstitutions(lower)].some((form) => {
    const unit = smallestUnit(toBare(form));
    const letters = unit.replaceAll(/[^\p{L}]/gu, '');
    return (
      COMMON.has(unit) ||
      COMMON.has(trimEnds(unit)) ||
      isRow(unit) ||
      (letters !== '' && isNothingBut(letters, own)) ||
      own.some((name) => trimEnds(unit) === name || unit === name)
    );
  });
}

/** Without case, spaces and punctuation, if anything else is there. */
function toBare(text: string): string {
  const bare = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
  return bare === '' ? text : bare;
}

/** What people put in the place of letters. */
const SUBSTITUTES: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

/** Digits after the last letter are a year or a count, and stay what they are. */
function undoSubstitutions(text: string): string {
  const tail = /[\d!]*$/.exec(text)?.[0] ?? '';
  const head = text.slice(0, text.length - tail.length);
  return head.replaceAll(/[013457@$!]/g, (sign) => SUBSTITUTES[sign] ?? sign) + tail;
}

/** Digits before and after. */
function trimEnds(text: string): string {
  return text.replace(/^\d+/, '').replace(/\d+$/, '');
}

/** `abcabcabc` is `abc`, and `aaaaaaa` is `a`. */
function smallestUnit(text: string): string {
  const again = text.slice(1) + text;
  const at = again.indexOf(text);
  return at === -1 ? text : text.slice(0, at + 1);
}

const FORWARD = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiopasdfghjklzxcvbnm',
  '1qaz2wsx3edc4rfv5tgb',
  '1q2w3e4r5t6y7u8i9o0p',
];
const ROWS = FORWARD.flatMap((row) => [row, Array.from(row).toReversed().join('')]).map((row) => row + row);
/** Shorter pieces of a row are in every word. */
const LEAST_STEP = 3;

/** Neighbours on a keyboard or in a count, one run after the other, or hardly anything. */
function isRow(text: string): boolean {
  let rest = text;
  while (rest.length >= LEAST_STEP) {
    let length = rest.length;
    while (length >= LEAST_STEP && !isStep(rest.slice(0, length))) length -= 1;
    if (length < LEAST_STEP) return false;
    rest = rest.slice(length);
  }
  return true;
}

const isStep = (part: string): boolean =>
  ROWS.some((row) => row.includes(part)) || Array.from(part).every((sign) => part.startsWith(sign));

/** Names of the person and the service, and at most one common word besides. */
function isNothingBut(letters: string, names: readonly string[]): boolean {
  const longestFirst = names
    .map((name) => name.replaceAll(/[^\p{L}]/gu, ''))
    .filter((name) => name !== '')
    .toSorted((a, b) => b.length - a.length);
  const left = longestFirst.reduce((text, name) => text.replaceAll(name, ''), letters);
  return left === '' || COMMON.has(left);
}
