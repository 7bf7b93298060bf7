// Checks the metadata document of an unregistered client, and converts it to a client like those of the configuration:
// draft-ietf-oauth-client-id-metadata-document-02, RFC 7591.
import { isUtf8 } from 'node:buffer';
import { checkClients } from '../../config/check-clients.ts';
import type { Client } from '../../config/config.ts';
import { parseJson } from '../../config/document.ts';
import { isRecord, parse } from '../../config/parse-fields.ts';
import { formatPath, type Path } from '../../config/problems.ts';
import { toClient } from '../../config/resolve.ts';
import { clientSchema, type ClientForm } from '../../config/schema-client.ts';
import { configSchema } from '../../config/schema.ts';
import { splitScope } from '../../config/text.ts';

/** Draft §8.7 recommends 5 KB. */
export const MOST_DOCUMENT_BYTES = 5120;

export type ClientDocument = Readonly<{
  clientId: string;
  contentType: string | undefined;
  body: Uint8Array;
}>;

/** The client of a document, or why it was rejected, for the administrator. The reason doesn't repeat the document. */
export type VettedDocument = { readonly client: Client } | { readonly refused: string };

/** `scope`: all scopes that such clients may request. */
export function vetClientDocument(document: ClientDocument, scope: readonly string[]): VettedDocument {
  try {
    const metadata = parseDocument(document);
    refuseSecrets(metadata);
    refuseUnsafeLinks(metadata);
    return { client: toVettedClient({ ...rewrite(metadata, scope), client_id: document.clientId }) };
  } catch (error) {
    if (error instanceof DocumentRefused) return { refused: error.message };
    throw error;
  }
}

/** `jwks` with certificates needs four levels. */
const MOST_LEVELS = 6;

class DocumentRefused extends Error {}

type Metadata = Readonly<Record<string, unknown>>;

function parseDocument({ clientId, contentType = '', body }: ClientDocument): Metadata {
  // Draft §4. Hosts where users upload files serve them with other types.
  if (!/^application\/([\w.!#$&^+-]+\+)?json *(;|$)/i.test(contentType))
    throw new DocumentRefused('its Content-Type is not application/json or application/…+json');
  if (body.length > MOST_DOCUMENT_BYTES)
    throw new DocumentRefused(`it has more than ${MOST_DOCUMENT_BYTES} bytes`);
  const metadata = parseBody(body);
  // Draft §4: compared as written, without normalization.
  if (metadata['client_id'] !== clientId) throw new DocumentRefused('its client_id is not its URL');
  // RFC 7592 §2.2 uses null for absent values, and some libraries write every field that they know.
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
}

/** Accepts only JSON that every parser reads as ours does. */
function parseBody(body: Uint8Array): Metadata {
  const metadata = isUtf8(body) ? parseJson(Buffer.from(body).toString(), MOST_LEVELS - 1) : undefined;
  if (isRecord(metadata)) return metadata;
  throw new DocumentRefused(
    `it is no JSON object, has a member twice or __proto__, or is nested more than ${MOST_LEVELS} deep`,
  );
}

const SHARED_SECRETS = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt'];

/** Draft §4.1: a public document must contain no secret, so its client can't have one. */
function refuseSecrets(metadata: Metadata): void {
  for (const key of ['client_secret', 'client_secret_expires_at']) {
    if (key in metadata) throw new DocumentRefused(`it has ${key}`);
  }
  // RFC 7518 §6. This can't match inside a text, where quotes have a backslash.
  if (/"(?:d|p|q|dp|dq|qi|oth|k)":/.test(JSON.stringify(metadata['jwks'] ?? '')))
    throw new DocumentRefused('jwks: has a private key');
  const { token_endpoint_auth_method: method = 'none' } = metadata;
  const { token_endpoint_auth_methods_supported: methods = [method] } = metadata;
  if (typeof method === 'string' && SHARED_SECRETS.includes(method))
    throw new DocumentRefused('its token_endpoint_auth_method needs a shared secret');
  if (!Array.isArray(methods) || !methods.includes('none'))
    throw new DocumentRefused('it has no authentication method that is supported: none');
}

/** Also checks links that are never shown, because `javascript:` in any of them is deliberate. */
function refuseUnsafeLinks(metadata: Metadata): void {
  for (const key of ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri']) {
    const value = metadata[key];
    if (value !== undefined && (typeof value !== 'string' || URL.parse(value)?.protocol !== 'https:'))
      throw new DocumentRefused(`${key}: must be an https URL`);
  }
}

/** Fields that are copied unchanged, if they obey the rules of a configured client. */
const TAKEN = [
  'client_name',
  'application_type',
  'redirect_uris',
  'post_logout_redirect_uris',
  'client_uri',
  'policy_uri',
  'tos_uri',
] as const satisfies readonly (keyof ClientForm)[];

/** Converts the document to the form of a configured client. Fields that aren't named here have no effect. */
function rewrite(metadata: Metadata, allowed: readonly string[]): Metadata {
  const { grant_types: grants = ['authorization_code'], response_types: responses = ['code'] } = metadata;
  if (!Array.isArray(grants) || !grants.includes('authorization_code'))
    throw new DocumentRefused('grant_types: must have authorization_code');
  if (!Array.isArray(responses) || !responses.includes('code'))
    throw new DocumentRefused('response_types: must have code');
  const refreshes = grants.includes('refresh_token');
  return {
    ...Object.fromEntries(TAKEN.map((key) => [key, metadata[key]])),
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', ...(refreshes ? ['refresh_token'] : [])],
    scope: allowedScope(metadata['scope'], allowed, refreshes).join(' '),
  };
}

/** `offline_access` follows from refresh_token: few documents name it in their scope. */
function allowedScope(said: unknown, allowed: readonly string[], refreshes: boolean): readonly string[] {
  if (said !== undefined && typeof said !== 'string') throw new DocumentRefused('scope: must be text');
  const asked = said === undefined ? allowed : splitScope(said);
  const scope = allowed.filter((one) => (one === 'offline_access' ? refreshes : asked.includes(one)));
  if (scope.every((one) => one === 'offline_access'))
    throw new DocumentRefused('scope: has nothing that such clients may ask for');
  return scope;
}

/** Applies the rules of the configuration, so that a document that is pinned there loads. */
function toVettedClient(form: Metadata): Client {
  const faults: string[] = [];
  const report = (path: Path, message: string): void => {
    faults.push(`${formatPath(path)}: ${message}`);
  };
  const value = parse(clientSchema, form, report);
  checkClients(value === undefined ? [] : [{ value, report, place: () => '', folder: '' }], {
    // Only an issuer on this machine may have a web app on loopback.
    issuerIsLoopback: false,
    features: configSchema.shape.features.parse({}),
    offered: ['password'],
    algorithms: ['RS256'],
    apiOf: () => true,
    userScopes: [],
  });
  const [fault] = faults;
  if (fault !== undefined || value === undefined) throw new DocumentRefused(fault ?? '');
  return toClient(value, []);
}
