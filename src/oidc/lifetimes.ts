// Lifetimes of the engine's artefacts, in seconds. Each is a function, because the engine prints a notice when one of its
// own defaults runs.
import type { Configuration } from 'oidc-provider';
import type { Lifetimes } from '../config/config.ts';
import { ID_TOKEN_SECONDS, SKEW_SECONDS, type TimingSettings, toTimingInput } from '../config/key-times.ts';
import type { AudienceRules } from '../tokens/audience.ts';
import type { Clock } from '../store/store.ts';

/** A client redeems a code at once (RFC 6749 §4.1.2). */
const CODE_SECONDS = 60;
/** Lifetime of a page that waits for a user. */
const INTERACTION_SECONDS = 600;

export function createLifetimes(
  lifetimes: Lifetimes,
  audiences: AudienceRules,
  now: Clock,
): NonNullable<Configuration['ttl']> {
  const accessToken = (_ctx: unknown, token: object) => {
    const { aud, scope } = token as Readonly<{ aud?: string; scope?: string }>;
    return audiences.lifetimeOf(aud ?? audiences.audienceOf(scope?.split(' ') ?? []));
  };
  /** The shorter of the idle and the remaining absolute lifetime (RFC 9700 §2.2.2, ASVS 7.3). `since`: the start, default now. */
  const left = (idle: number, absolute: number, since?: number) => {
    const seconds = Math.floor(now() / 1000);
    return Math.max(1, Math.min(idle, absolute - seconds + (since ?? seconds)));
  };

  return {
    AccessToken: accessToken,
    ClientCredentials: accessToken,
    AuthorizationCode: () => CODE_SECONDS,
    IdToken: () => ID_TOKEN_SECONDS,
    // `iiat` is when the first token of the chain was issued.
    RefreshToken: (_ctx, { iiat, iat }) =>
      left(lifetimes.refreshToken, lifetimes.refreshTokenAbsolute, iiat ?? iat),
    Interaction: () => INTERACTION_SECONDS,
    // A new sign-in restarts the absolute lifetime.
    Session: (_ctx, { loginTs }) => left(lifetimes.session, lifetimes.sessionAbsolute, loginTs),
    Grant: () => Math.max(lifetimes.refreshTokenAbsolute, lifetimes.session),
  };
}

/** Seconds that a revoked grant is remembered: never less than under an earlier configuration of this process. */
export function createTombstoneSeconds(): (config: TimingSettings) => number {
  let longest = 0;
  return (config) => {
    const { accessToken } = toTimingInput(config);
    // The grant's own record lives longest of all.
    longest = Math.max(longest, accessToken, ...Object.values(config.lifetimes));
    // A tombstone outlives every token of its grant, on all nodes.
    return longest + 2 * SKEW_SECONDS;
  };
}
