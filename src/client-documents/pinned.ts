// A client document in the configuration file: written there as a client like any other, and compared with what is published.
import type { Client } from '../config/config.ts';
import { type Difference, differences } from '../config/diff.ts';
import { vetClientDocument, type ClientDocument } from './vet.ts';

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

/** What the document at its URL says otherwise than the client in the file, a line for each field. */
export function comparePinned(client: Client, published: ClientDocument): readonly string[] {
  // The operator may have left scopes out: that the document asks for more is no news.
  const vetted = vetClientDocument(published, client.scopes);
  if ('refused' in vetted) return [`the published document is refused: ${vetted.refused}`];
  return differences(comparable(client), comparable(vetted.client)).map(explain);
}

function comparable(client: Client): Readonly<Record<string, unknown>> {
  return {
    ...toPinnedFields(client),
    scope: client.scopes,
    post_logout_redirect_uris: client.postLogoutRedirectUris,
  };
}

function explain({ kind, path, from, to }: Difference): string {
  if (kind === 'added') return `${path}: ${String(to)} is published, but not pinned`;
  if (kind === 'removed') return `${path}: ${String(from)} is pinned, but not published`;
  return `${path}: ${quote(from)} is pinned, ${quote(to)} is published`;
}

const quote = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
