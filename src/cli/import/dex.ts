// Clients of a Dex configuration: `staticClients`.
import { listOf, objectsAt, textOf, unknownKeys, type ClientDraft, type Fields } from './client-draft.ts';

const KNOWN = ['id', 'idEnv', 'name', 'secret', 'secretEnv', 'redirectURIs', 'public', 'logoURL'];

export function importDex(content: unknown): ClientDraft[] | undefined {
  return objectsAt(content, ['staticClients'])?.map(toDraft);
}

function toDraft(fields: Fields): ClientDraft {
  const plain = textOf(fields, 'secret');
  const env = textOf(fields, 'secretEnv');
  const id = textOf(fields, 'id');
  return {
    clientId: id ?? 'NAME_ME',
    clientName: textOf(fields, 'name'),
    secret:
      env === undefined
        ? plain === undefined
          ? undefined
          : { kind: 'plain', value: plain }
        : { kind: 'env', name: env },
    redirectUris: listOf(fields, 'redirectURIs'),
    postLogoutRedirectUris: [],
    corsOrigins: [],
    // Dex gives every client the same grants and scopes.
    grantTypes: ['authorization_code', 'refresh_token'],
    authMethod: fields['public'] === true ? 'none' : 'client_secret_basic',
    scopes: ['openid', 'email', 'profile', 'offline_access'],
    consent: 'explicit',
    notes: [
      ...(id === undefined ? ['has no id in the file: replace NAME_ME'] : []),
      ...unknownKeys(fields, KNOWN),
    ],
  };
}
