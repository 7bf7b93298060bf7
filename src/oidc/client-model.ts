// A client as users see it on a page.
import { isUrlClient } from '../config/client-id-url.ts';
import type { Client } from '../config/config.ts';
import type { ClientModel } from '../views/shared-models.ts';

/** Undefined for a service, which users never see: no page may reveal its name to a caller that sends its id. */
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

/** A client's document may claim any name, so users see its host instead. */
const nameOf = ({ clientId, clientName = clientId }: Client) =>
  isUrlClient(clientId) ? new URL(clientId).host : clientName;

/** OIDC Core §4: an app that receives the issuer starts the sign-in itself. */
function startOf({ initiateLoginUri, clientUri }: Client, issuer: string): string | undefined {
  if (initiateLoginUri === undefined) return clientUri;
  const url = new URL(initiateLoginUri);
  url.searchParams.set('iss', issuer);
  return url.href;
}
