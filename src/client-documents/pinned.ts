// A client document in the configuration file: written there as a client like any other, and compared with what is published.
import { isDocumentClient } from '../config/client-id-url.ts';
import type { Client } from '../config/config.ts';
import { type Difference, differences } from '../config/diff.ts';
import type { Outgoing } from '../outgoing/guard.ts';
import { fetchDocument } from './fetch-document.ts';
import { type ClientDocument, vetClientDocument } from './vet.ts';

/** The client as an entry of `clients`, in the order in which people read one. Without its logo, which a page would load. */
export function toPinnedFields(client: Client): Readonly<Record<string, unknown>> {
  const fields = {
    client_id: client.clientId,
    client_name: client.clientName,
    client_uri: client.clientUri,
    policy_uri: client.policyUri,
    tos_uri: client.tosUri,
    application_type: client.applicationType,
    redirect_uris: client.redirectUris,
    post_logout_redirect_uris:
      client.postLogoutRedirectUris.length > 0 ? client.postLogoutRedirectUris : undefined,
    grant_types: client.grantTypes,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    scope: client.scopes.join(' '),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

type PinnedCheck = Readonly<{
  clientId: string;
  /** What the document at its URL says otherwise, a line for each field. */
  differences: readonly string[];
  /** Why it could not be compared. */
  failed?: string;
}>;

/** One after the other, because each has two seconds in all. */
export async function checkPinned(
  clients: readonly Client[],
  outgoing: Outgoing,
): Promise<readonly PinnedCheck[]> {
  const checks: PinnedCheck[] = [];
  for (const client of clients.filter(({ clientId }) => isDocumentClient(clientId)))
    checks.push(await checkOne(client, outgoing));
  return checks;
}

async function checkOne(client: Client, outgoing: Outgoing): Promise<PinnedCheck> {
  const { clientId, scopes } = client;
  // The operator may have left scopes out: that the document asks for more is no news.
  const vet = (document: ClientDocument) => vetClientDocument(document, scopes);
  const published = await fetchDocument({ outgoing, vet }, clientId);
  if ('failed' in published) return { clientId, differences: [], failed: published.failed };
  if ('refused' in published)
    return { clientId, differences: [`the published document is refused: ${published.refused}`] };
  const found = differences(comparable(client), comparable(published.client));
  return { clientId, differences: found.map(explain) };
}

function comparable(client: Client): Readonly<Record<string, unknown>> {
  return {
    ...toPinnedFields(client),
    scope: client.scopes,
    post_logout_redirect_uris: client.postLogoutRedirectUris,
  };
}

function explain({ path, from, to }: Difference): string {
  const [pinned, published] = [from, to].map((value) =>
    value === undefined ? 'nothing' : JSON.stringify(value),
  );
  return `${path}: ${pinned} is pinned, ${published} is published`;
}
