// The one form of a username that is compared and counted, however it was typed.

/** NFKC, trimmed, lower case: `Alice`, ` alice` and full-width letters are one user. */
export function canonicalUsername(typed: string): string {
  // Once more after the case: a lower-case letter may have a composed form that its capital lacks (J and a caron).
  return typed.normalize('NFKC').toLowerCase().normalize('NFKC').trim();
}
