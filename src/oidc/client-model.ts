// A client as users see it on a page.
import { isUrlClient } from '../config/client-id-url.ts';
import type { Client } from '../config/config.ts';
import type { ClientModel } from '../views/models.ts';

/** Users never meet a service, so no page names it to a caller that sends its id. */
export function toUsersClient(client: Client | undefined, issuer: string): ClientModel | undefined {
  return client && client.redirectUris.length > 0 ? toClientModel(client, issuer) : undefined;
}

export function toClientModel(client: Client, issuer: string): ClientModel {
  return {
    id: client.clientId,
    name: nameOf(client),
    logoUri: client.logoUri,
    clientUri: client.clientUri,
    startUri: startOf(client, issuer),
    policyUri: client.policyUri,
    tosUri: client.tosUri,
  };
}

/** A document may say any name, so its host is what users are shown. */
const nameOf = ({ clientId, clientName = clientId }: Client): string =>
  isUrlClient(clientId) ? new URL(clientId).host : clientName;

/** OIDC Core §4: the app begins a sign-in itself when it is given the issuer. */
function startOf({ initiateLoginUri, clientUri }: Client, issuer: string): string | undefined {
  if (initiateLoginUri === undefined) return clientUri;
  const url = new URL(initiateLoginUri);
  url.searchParams.set('iss', issuer);
  return url.href;
}
