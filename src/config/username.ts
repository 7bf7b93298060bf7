// The one form of a username that is compared and counted, however it was typed.

/** NFKC, trimmed, lower case: `Alice`, ` alice` and full-width letters are one person. */
export function canonicalUsername(typed: string): string {
  return typed.normalize('NFKC').trim().toLowerCase();
}
