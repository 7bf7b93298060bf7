// The internal client with which the service's own pages for users start a sign-in; they have no other way. Its codes are worthless:
// it has no secret, so no caller can authenticate as this client at the token endpoint.
import { randomBytes } from 'node:crypto';
import type { Branding, Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { toClient } from '../config/resolve.ts';
import { clientSchema } from '../config/schema-client.ts';

/** No configured client can have this id: the configuration refuses a colon. */
export const INTERNAL_CLIENT_ID = 'postern:account';

export function createInternalClient(
  { issuer, branding }: Readonly<{ issuer: string; branding: Branding }>,
  paths: readonly string[],
): Client {
  const form = clientSchema.parse({
    client_id: 'own',
    client_name: branding.name,
    redirect_uris: paths.map((path) => `${issuer}${path}`),
    application_type: 'web',
    scope: 'openid',
    consent: 'implicit',
  });
  return { ...toClient(form, []), clientId: INTERNAL_CLIENT_ID };
}

/** The URL of a sign-in; `again`: the user signed in too long ago. `path` receives `state` back. */
export function internalSignInUrl(issuer: string, path: string, again: boolean, state?: string): string {
  const url = new URL(`${issuer}${ENDPOINTS.authorization}`);
  const parameters = {
    client_id: INTERNAL_CLIENT_ID,
    response_type: 'code',
    redirect_uri: `${issuer}${path}`,
    scope: 'openid',
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    ...(again && { prompt: 'login' }),
    ...(state !== undefined && { state }),
  };
  url.search = new URLSearchParams(parameters).toString();
  return url.href;
}
