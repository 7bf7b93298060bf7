// The schemas of rate limits, lifetimes and signing keys.
import * as z from 'zod';
import { group } from './camel-keys.ts';
import { DAY, duration, HOUR, MINUTE, type Rate, rate } from './notation.ts';
import { ALGORITHMS } from './signing-algorithms.ts';

/** `N/duration`. Above it, the response is 429 with Retry-After (RFC 6585 §4). limits/limits.ts derives limits from these. */
export const rateLimitsSchema = group({
  token: rate()
    .prefault('6000/1m')
    .describe(
      'POST /oauth/token: client_credentials requests, and valid codes and refresh tokens, per client.',
    ),
  introspection: rate()
    .prefault('12000/1m')
    .describe('POST /oauth/introspect: requests with valid tokens, per client.'),
  revocation: rate().prefault('1200/1m').describe('POST /oauth/revoke: valid tokens, per client.'),
  userinfo: rate()
    .prefault('3000/1m')
    .describe('GET /oauth/userinfo: requests with valid tokens, per address.'),
  authorization: rate().prefault('300/1m').describe('GET /oauth/authorize: requests per address.'),
  logout: rate().prefault('120/1m').describe('GET /oauth/logout: requests per address.'),
  sign_in: rate()
    .prefault('10/10m')
    .describe(
      'Wrong passwords per account and address, in browsers that the user has not signed in from before.',
    ),
});

/** A fixed rate, or a rate of the file and a factor. */
export type LimitRow = Rate | readonly [keyof z.output<typeof rateLimitsSchema>, factor: number];

/** A client's own limits. Absent ones follow `rate_limits`. */
export const clientRateLimitsSchema = z.strictObject({
  token: rate().optional().describe('Replaces rate_limits.token for this client.'),
  introspection: rate().optional().describe('Replaces rate_limits.introspection for this client.'),
});

/** Access tokens can be verified offline, so only expiry invalidates them everywhere. */
export const accessTokenDuration = () => duration({ max: DAY });

export const lifetimesSchema = group({
  access_token: accessTokenDuration()
    .prefault('10m')
    .describe('Access tokens, unless the resource sets its own lifetime. At most 24h.'),
  refresh_token: duration().prefault('14d').describe('Unused refresh tokens. Each use returns a new one.'),
  refresh_token_absolute: duration()
    .prefault('90d')
    .describe('All refresh tokens of a sign-in, counted from the sign-in.'),
  session: duration({ min: MINUTE }).prefault('14d').describe('Sessions, since their last use.'),
  // NIST SP 800-63B-4, AAL1: sign in again after 30 days at the latest.
  session_absolute: duration({ min: MINUTE }).prefault('30d').describe('Sessions, since the sign-in.'),
  consent: duration({ min: 0 })
    .prefault('180d')
    .describe('How long consent is remembered. 0s asks at each new sign-in.'),
}).refine(
  ({ refreshToken, refreshTokenAbsolute }) => refreshToken <= refreshTokenAbsolute,
  'refresh_token is longer than refresh_token_absolute: shorten it',
);

export const signingKeysSchema = group({
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .refine((names) => names.includes('RS256'), 'must include RS256, which signs access tokens')
    .transform((names) => ALGORITHMS.filter((one) => names.includes(one)))
    .prefault(['RS256'])
    .describe(
      'Algorithms for ID tokens, which clients choose with id_token_signed_response_alg. RS256 is always included, because it signs access tokens.',
    ),
  modulus: z
    .union([z.literal(2048), z.literal(3072), z.literal(4096)], 'must be 2048, 3072 or 4096')
    .default(2048)
    .describe('RSA modulus of new keys, in bits. Larger keys sign several times slower.'),
  rotate_every: duration({ min: HOUR }).prefault('30d').describe('How long a key is used for signing.'),
  publish_ahead: duration()
    .prefault('24h')
    .describe('How long a key is published before it signs, so that verifiers know it.'),
});
