// The schema of everything that is counted or timed: rate limits, lifetimes, signing keys.
import * as z from 'zod';
import { group } from './camel-keys.ts';
import { DAY, duration, HOUR, MINUTE, rate } from './notation.ts';
import { ALGORITHMS } from './signing-algorithms.ts';

const token = z.strictObject({
  client: rate()
    .prefault('6000/1m')
    .describe(
      'Machine tokens of one client, and codes and refresh tokens that it exchanges. Its requests that are refused, such as those with a made-up code, have a second limit of the same size.',
    ),
  address: rate()
    .prefault('3000/1m')
    .describe('Requests of one address without valid client credentials, those of public clients included.'),
  failures: rate().prefault('20/1m').describe('Wrong client credentials, for one client from one address.'),
});

const introspection = z.strictObject({
  client: rate()
    .prefault('12000/1m')
    .describe(
      'Questions of one client about live tokens. Requests without valid client credentials count by address, with the same number.',
    ),
  failures: rate().prefault('20/1m').describe('Wrong client credentials, for one client from one address.'),
  unknown: rate()
    .prefault('600/1m')
    .describe(
      'All other questions of one client: tokens that were made up, are expired or revoked, or are not for this client. Beyond it they are answered with 429, and questions about live tokens as before.',
    ),
});

const revocation = z.strictObject({
  client: rate()
    .prefault('1200/1m')
    .describe(
      'Live tokens that one client revokes. Its requests with any other token have a second limit of the same size. Requests without valid client credentials, those of public clients included, count by address, with the same number.',
    ),
  failures: rate().prefault('20/1m').describe('Wrong client credentials, for one client from one address.'),
});

const signIn = group({
  account_failures: rate()
    .prefault('10/10m')
    .describe(
      'Wrong passwords for one account from one address, where the person has not signed in before. Over all such addresses failures in a row are paced from the twentieth on, and refused after 80.',
    ),
  address_failures: rate()
    .prefault('60/10m')
    .describe(
      'Wrong passwords from one address, over all accounts. One network (/24, /48) may fail ten times as often.',
    ),
});

/** Rates are `N/duration`; on excess the answer is 429 with Retry-After (RFC 6585 §4). */
export const rateLimitsSchema = group({
  dry_run: z
    .boolean()
    .default(false)
    .describe('Count and report, but refuse nothing. To find limits that fit.'),
  token: token.prefault({}).describe('POST /oauth/token.'),
  introspection: introspection.prefault({}).describe('POST /oauth/introspect.'),
  revocation: revocation.prefault({}).describe('POST /oauth/revoke.'),
  userinfo: z
    .strictObject({
      address: rate()
        .prefault('3000/1m')
        .describe(
          'Requests of one address with a valid access token. Those without one have a second limit of the same size.',
        ),
    })
    .prefault({})
    .describe('GET /oauth/userinfo.'),
  authorization: z
    .strictObject({ address: rate().prefault('300/1m').describe('Requests of one address.') })
    .prefault({})
    .describe('GET /oauth/authorize.'),
  logout: z
    .strictObject({ address: rate().prefault('120/1m').describe('Requests of one address.') })
    .prefault({})
    .describe('GET /oauth/logout.'),
  sign_in: signIn.prefault({}).describe('The sign-in page.'),
});

/** A client's own limits; what is absent follows `rate_limits`. */
export const clientRateLimitsSchema = z.strictObject({
  token: rate().optional().describe('Replaces rate_limits.token.client for this client.'),
  introspection: rate().optional().describe('Replaces rate_limits.introspection.client for this client.'),
  revocation: rate().optional().describe('Replaces rate_limits.revocation.client for this client.'),
});

/** Access tokens can be verified offline, so only their expiry ends them everywhere. */
export const accessTokenDuration = () => duration({ max: DAY });

export const lifetimesSchema = group({
  access_token: accessTokenDuration()
    .prefault('10m')
    .describe('Access tokens; a resource may have its own. At most 24h.'),
  id_token: duration({ max: DAY }).prefault('1h').describe('ID tokens. At most 24h.'),
  // RFC 6749 §4.1.2: > A maximum authorization code lifetime of 10 minutes is RECOMMENDED.
  authorization_code: duration({ max: 10 * MINUTE })
    .prefault('60s')
    .describe('Authorization codes. At most 10m.'),
  refresh_token: duration()
    .prefault('14d')
    .describe('A refresh token that is not used. Each use gives a new one.'),
  refresh_token_absolute: duration()
    .prefault('90d')
    .describe('A chain of refresh tokens, from sign-in to the last one.'),
  session: duration({ min: MINUTE }).prefault('14d').describe('The sign-in of a browser that is not used.'),
  // NIST SP 800-63B-4, AAL1: sign in again after 30 days at the latest.
  session_absolute: duration({ min: MINUTE })
    .prefault('30d')
    .describe('The sign-in of a browser, however much it is used.'),
  consent: duration({ min: 0 })
    .prefault('180d')
    .describe('How long it is remembered what a person allowed an app. 0s asks at each new sign-in.'),
  interaction: duration({ min: MINUTE, max: DAY })
    .prefault('10m')
    .describe('How long a sign-in page stays usable. At least 1m.'),
});

export const signingKeysSchema = group({
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .refine((names) => names.includes('RS256'), 'must have RS256: access tokens are signed with it')
    .transform((names) => ALGORITHMS.filter((one) => names.includes(one)))
    .prefault(['RS256'])
    .describe(
      'What ID tokens may be signed with, as clients name it in id_token_signed_response_alg. RS256 is always one: access tokens are signed with it.',
    ),
  modulus: z
    .union([z.literal(2048), z.literal(3072), z.literal(4096)], 'must be 2048, 3072 or 4096')
    .default(2048)
    .describe('RSA modulus of new keys, in bits. Bigger keys sign several times slower.'),
  rotate_every: duration({ min: HOUR }).prefault('30d').describe('How long a key signs.'),
  publish_ahead: duration()
    .prefault('24h')
    .describe('How long a key is published before it signs, so that verifiers have it.'),
  jwks_max_age: duration({ max: DAY }).prefault('5m').describe('How long verifiers may cache the key set.'),
});
