// The zod type of text with a rule, and the rules for plain text.
import * as z from 'zod';

/** Returns what is wrong with a value, or nothing. Never repeats the value: it may be a secret. */
export type Fault = (value: string) => string | undefined;

export const matching =
  (pattern: RegExp, message: string): Fault =>
  (value) =>
    pattern.test(value) ? undefined : message;

export function text(faultOf: Fault) {
  return z.string().superRefine((value, context) => {
    const fault = faultOf(value);
    if (fault) context.addIssue(fault);
  });
}

// Bidirectional controls can make a name read as another one on the consent page.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

export function labelFault(value: string): string | undefined {
  if (value.trim() === '') return 'must not be empty';
  if (UNPRINTABLE.test(value)) return 'must not contain control characters';
  return value.length > 200 ? 'must be at most 200 characters' : undefined;
}

/** Writes JSON escapes for characters that a terminal interprets or hides. */
export const escaped = (value: string) =>
  value.replaceAll(/[\p{C}\u2028\u2029]/gu, (one) =>
    one.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );

// With one of these, different names look the same. The last three are blank, but no Unicode property says so.
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{16fe4}\u{1d159}]/u;

export const usernameFault: Fault = (value) =>
  labelFault(value) ?? (INVISIBLE.test(value) ? 'must not contain invisible characters' : undefined);

/** The form of a username for comparisons and limits: `Alice`, ` alice` and full-width letters are one user. */
export function canonicalUsername(typed: string): string {
  // Normalized again, because a lower-case letter may have a composed form that its capital lacks (J and a caron).
  return typed.normalize('NFKC').toLowerCase().normalize('NFKC').trim();
}

/** Equal for two names that look the same. */
export const lookOf = (name: string) => canonicalUsername(name.split(INVISIBLE).join(''));

export const emptyFault = matching(/\S/, 'must not be empty');

export const secretReference = text(emptyFault).meta({
  title: 'reference',
  examples: ['env:NAME', 'file:secrets/NAME'],
});

/** RFC 6749 §3.3: scope = scope-token *( SP scope-token ). */
export const scopeTokenFault: Fault = (value) =>
  /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value) && !(value in Object.prototype)
    ? undefined
    : 'must be printable ASCII without spaces, quotes and backslashes (RFC 6749 §3.3), and no word of JavaScript';

export function scopeFault(value: string): string | undefined {
  const isValid = splitScope(value).every((token) => scopeTokenFault(token) === undefined);
  return isValid ? undefined : 'must be one or more scopes, separated by spaces';
}

/** Splits an RFC 7591 `scope` value into its scope tokens, without duplicates. */
export function splitScope(scope: string): string[] {
  return [...new Set(scope.split(' ').filter((token) => token !== ''))];
}
