// The schemas of a client, with RFC 7591 names, and of a resource.
import * as z from 'zod';
import { fold } from '../features/index.ts';
import { camelKeys } from './camel-keys.ts';
import { clientIdUrlFault, isUrlClient, MAX_CLIENT_ID_LENGTH } from './client-id-url.ts';
import { instant } from './notation.ts';
import { GRANT_TYPES } from './endpoints.ts';
import { accessTokenDuration, clientRateLimitsSchema } from './schema-limits.ts';
import { hashFault } from './secret-strength.ts';
import { ALGORITHMS } from './signing-algorithms.ts';
import { labelFault, scopeFault, scopeTokenFault, secretReference, splitScope, text } from './text.ts';
import { redirectUriFault, resourceFault, webUriFault } from './uri.ts';

// RFC 6749 §2.3.1 requires form encoding of both halves of Basic credentials, which many clients omit. So an identifier can't have
// characters that form encoding would change, unless it is a URL, which never has a secret.
function clientIdFault(value: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(value) || value.length > MAX_CLIENT_ID_LENGTH)
    return 'must be 1 to 200 printable ASCII characters, without spaces';
  if (isUrlClient(value)) return clientIdUrlFault(value);
  // The engine finds such a name in every object: it would store what belongs to one session for all of them.
  if (value in Object.prototype) return 'must not be a word of JavaScript, such as constructor';
  if (/[:%+"\\]/.test(value)) return 'must not contain : % + " or backslashes';
  // A user and a client with the same identifier would have the same `sub`.
  return value.startsWith('usr_') ? 'must not start with usr_, the prefix of user IDs' : undefined;
}

const clientSecretSchema = z
  .strictObject({
    value: secretReference
      .optional()
      .describe('env:NAME or file:PATH. Plain text only if the issuer is on localhost.'),
    hash: text(hashFault)
      .optional()
      .describe(
        'sha256: and the SHA-256 of the secret, in hex or base64url, as "postern client secret" prints it.',
      ),
    name: text(labelFault).optional().describe('Name of the secret in logs.'),
    not_before: instant().optional().describe('Date or time from which the secret is valid.'),
    expires_at: instant().optional().describe('Date or time from which the secret is no longer valid.'),
  })
  .superRefine((secret, context) => {
    if ((secret.value === undefined) === (secret.hash === undefined)) {
      context.addIssue('must have either value or hash, not both');
    }
    if ((secret.not_before ?? -Infinity) >= (secret.expires_at ?? Infinity)) {
      context.addIssue('not_before must be earlier than expires_at');
    }
  })
  .transform((secret) => camelKeys(secret));

export const clientSchema = z.strictObject({
  client_id: text(clientIdFault)
    .describe(
      'Public identifier of the client, different from all others in more than case. For a public client, it can be the https URL of its metadata document.',
    )
    .meta({ examples: ['my-app'] }),
  client_name: text(labelFault).optional().describe('Name of the client on the sign-in and consent pages.'),
  application_type: z
    .enum(['web', 'native'])
    .optional()
    .describe(
      "native: an app on the user's device, with localhost or private-scheme redirect URIs (RFC 8252). Default: native for a public client with such a redirect URI, otherwise web.",
    ),
  client_secret: secretReference
    .optional()
    .describe('Shorthand for one entry of client_secrets with this value.'),
  client_secrets: z
    .array(clientSecretSchema)
    .max(5, 'must have at most 5 secrets')
    .default([])
    .describe('Secrets of a confidential client. Several can be valid at once, for rotation.'),
  redirect_uris: z
    .array(text(redirectUriFault))
    .default([])
    .describe('Allowed redirect URIs, compared exactly. Native apps can use any port on localhost.')
    .meta({ examples: [['https://app.example.com/callback']] }),
  post_logout_redirect_uris: z
    .array(text(redirectUriFault))
    .default([])
    .describe('Allowed redirect URIs after sign-out.'),
  grant_types: z
    .array(z.enum(GRANT_TYPES))
    .default(['authorization_code'])
    .describe('Grant types of the client. [] for an API that only introspects tokens.'),
  token_endpoint_auth_method: z
    .enum(['client_secret_basic', 'client_secret_post', 'none'])
    .default('client_secret_basic')
    .describe('How the client authenticates. none: a public client, such as a single-page or native app.'),
  scope: text(scopeFault)
    .transform(splitScope)
    .describe('All scopes that the client can request, separated by spaces. Required.')
    .meta({ examples: ['openid email profile'] }),
  default_scope: text(scopeFault)
    .transform(splitScope)
    .optional()
    .describe(
      'Scopes for requests without scope, unless the requested API has default_scopes. Each must be in scope, too.',
    ),
  groups_claim: z
    .array(z.string())
    .optional()
    .describe('Groups that this app can see in the groups claim. Default: all.'),
  require_pkce: z.boolean().default(true).describe('Require PKCE. false only for a confidential client.'),
  rate_limits: clientRateLimitsSchema
    .prefault({})
    .describe('Limits that override rate_limits for this client.'),
  consent: z
    .enum(['explicit', 'implicit'])
    .default('explicit')
    .describe('explicit asks the user. implicit skips consent, for your own confidential clients.'),
  id_token_signed_response_alg: z
    .enum(ALGORITHMS)
    .default('RS256')
    .describe(
      'Algorithm of ID tokens and logout tokens, one of signing_keys.algorithms. Access tokens are always RS256.',
    ),
  id_token_claims: z
    .enum(['minimal', 'full'])
    .default('minimal')
    .describe(
      "full also includes the claims of the granted scopes (name, email …) in the ID token, for apps that don't call userinfo.",
    ),
  logo_uri: text(webUriFault).optional().describe('Logo for the consent page.'),
  client_uri: text(webUriFault).optional().describe('Home page of the client.'),
  initiate_login_uri: text(webUriFault)
    .optional()
    .describe('URL where the client starts a sign-in. Error pages and the account page link to it.'),
  policy_uri: text(webUriFault).optional().describe('Privacy policy of the client.'),
  tos_uri: text(webUriFault).optional().describe('Terms of service of the client.'),
  ...fold('client'),
});

export const resourceSchema = z.strictObject({
  resource: text(resourceFault).describe(
    'Identifier of the API, an absolute URI: the audience of its tokens (RFC 8707).',
  ),
  name: text(labelFault).optional().describe('Name of the API on the consent page.'),
  scopes: z
    .array(text(scopeTokenFault))
    .default([])
    .describe('Scopes of this API. Each scope belongs to one API only.'),
  scope_descriptions: z
    .record(z.string(), text(labelFault))
    .default({})
    .describe('Descriptions by scope, in plain words, for the consent page.'),
  access_token: accessTokenDuration()
    .optional()
    .describe('Lifetime of access tokens for this API. Default: lifetimes.access_token.'),
  clients: z
    .array(z.string())
    .default([])
    .describe(
      'client_ids that can get tokens for this API. Only for an API without scopes; otherwise, clients need one of the scopes.',
    ),
  default_scopes: z
    .array(text(scopeTokenFault))
    .default([])
    .describe('Scopes for requests for this API without scope.'),
  access_token_claims: z
    .array(z.string())
    .default([])
    .describe(
      'User claims to include in access tokens for this API and in their introspection, if their scope was granted: groups, standard or custom claims.',
    ),
  introspection_clients: z
    .array(z.string())
    .default([])
    .describe(
      'client_ids that can introspect tokens for this API, in addition to the client that the token was issued to.',
    ),
  ...fold('resource'),
});

export type ClientForm = z.output<typeof clientSchema>;
export type ResourceForm = z.output<typeof resourceSchema>;
