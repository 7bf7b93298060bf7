// When the person behind a token signed in: what voids sign-ins before a moment voids everything that came of them, also what
// was issued a moment later by a request that was under way, or before by a machine whose clock is ahead of the operator's.

/** What the engine's tokens have of it: codes and refresh tokens `authTime`, access tokens what went into their claims. */
export type TokenOfPerson = {
  readonly iat: number;
  readonly authTime?: number | undefined;
  readonly extra?: { readonly auth_time?: unknown } | undefined;
};

/** Epoch seconds; never later than the token itself. */
export function signedInAt({ iat, authTime, extra }: TokenOfPerson): number {
  const times = [iat, authTime, extra?.auth_time];
  return Math.min(...times.filter((time) => typeof time === 'number'));
}
