// What a request without `scope` asks for, where it starts (RFC 6749 §3.3): at the authorization endpoint and at client_credentials. A code
// and a refresh token have their scope already.
import type { Client } from '../../config/config.ts';
import type { AudienceRules } from '../../tokens/audience.ts';

/** Empty where there is nothing to fill in. It is refused or granted as if the client had named it, never in part. */
export type FindDefault = (request: {
  readonly client: Client;
  readonly resource?: string | undefined;
  /** Or for the client itself (client_credentials). */
  readonly isForPerson: boolean;
}) => readonly string[];

export function createFindDefault({
  findResource,
  ownersOf,
}: Pick<AudienceRules, 'findResource' | 'ownersOf'>): FindDefault {
  /** All of them, where one token can have them all. */
  function whole({ scopes }: Client): readonly string[] {
    const isOfApi = (scope: string) => ownersOf([scope]).length > 0;
    return ownersOf(scopes).length === 1 && scopes.every(isOfApi) ? scopes : [];
  }

  return function findDefault({ client, resource: identifier, isForPerson }) {
    const resource = identifier === undefined ? undefined : findResource(identifier);
    if (resource !== undefined && resource.defaultScopes.length > 0) return resource.defaultScopes;
    // A service names none at an API that has none.
    if (!isForPerson && resource?.scopes.length === 0) return [];
    if (client.defaultScopes !== undefined && client.defaultScopes.length > 0) return client.defaultScopes;
    return isForPerson ? [] : whole(client);
  };
}
