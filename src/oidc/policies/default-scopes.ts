// What a request without `scope` asks for, where it starts (RFC 6749 §3.3): at the authorization endpoint and at client_credentials. A code
// and a refresh token have their scope already.
import type { Client } from '../../config/config.ts';
import type { AudienceRules } from '../../tokens/audience.ts';

type Wanted = Readonly<{
  /** Undefined: the file has no such client. */
  client: Client | undefined;
  resource?: string | undefined;
  isForUser: boolean;
}>;

export type FindDefault = ReturnType<typeof createFindDefault>;

export function createFindDefault({ findResource, ownersOf }: AudienceRules) {
  /** All of them, where one token can have them all. */
  function whole({ scopes }: Client): readonly string[] {
    const isOfApi = (scope: string) => ownersOf([scope]).length > 0;
    return ownersOf(scopes).length === 1 && scopes.every(isOfApi) ? scopes : [];
  }

  /**
   * Empty where there is nothing to fill in. It is refused or granted as if the client had named it, never in part. `isForPerson`: else it
   * is for the client itself (client_credentials).
   */
  return function findDefault({ client, resource: identifier, isForUser }: Wanted): readonly string[] {
    const resource = identifier === undefined ? undefined : findResource(identifier);
    if (resource !== undefined && resource.defaultScopes.length > 0) return resource.defaultScopes;
    // A service names none at an API that has none.
    if (!isForUser && resource?.scopes.length === 0) return [];
    if (client?.defaultScopes?.length) return client.defaultScopes;
    return isForUser || !client ? [] : whole(client);
  };
}
