// The answer to an API that asks about a live machine token (RFC 7662) and may hear of it. The engine's own answer is the reference,
// and test/flow/plain-introspection.test.ts compares the two.
import type { SecretComparison } from '../client-authentication.ts';
import type { FindMachineToken, MachineToken } from '../machine-tokens.ts';
import type { TellOf } from '../policies/token-policies.ts';
import { credentialsOf, type FastAnswer, peekForm } from './plain-request.ts';
import type { FindClient } from '../clients.ts';

/** A hint is only a hint: what is found is the same with any and with none (RFC 7662 §2.1). */
const FIELDS = new Set(['token', 'token_type_hint', 'client_id', 'client_secret']);

export type FastIntrospectionParts = {
  readonly issuer: string;
  readonly findClient: FindClient;
  readonly secrets: SecretComparison;
  readonly findMachineToken: FindMachineToken;
  readonly tellOf: TellOf;
};

export function fastIntrospection(parts: FastIntrospectionParts): FastAnswer {
  const { issuer, findClient, secrets, tellOf } = parts;

  /** An outage is the engine's to answer. */
  const findToken: FindMachineToken = (jwt) => parts.findMachineToken(jwt).catch(() => undefined);

  return async function answerIntrospection(request, { clientAddress: address }) {
    const form = peekForm(request, FIELDS);
    const credentials = form && credentialsOf(request, form);
    const caller = credentials && findClient(credentials.clientId);
    const jwt = form?.['token'];
    if (credentials === undefined || caller === undefined || jwt === undefined) return undefined;
    const count = secrets.comparePlain({ endpoint: 'introspection', address }, caller, credentials.secret);
    const token = count && (await findToken(jwt));
    if (count === undefined || token === undefined) return undefined;
    const told = await tellOf(caller.clientId, { kind: 'ClientCredentials', ...token }, undefined);
    if (told === undefined) return undefined;
    await count();
    return describe(token, issuer);
  };
}

/** RFC 7662 §2.2 */
function describe({ clientId, jti, aud, scope, iat, exp }: MachineToken, issuer: string) {
  return {
    active: true,
    client_id: clientId,
    exp,
    iat,
    iss: issuer,
    jti,
    aud,
    scope: scope === '' ? undefined : scope,
    token_type: 'Bearer',
    // RFC 9068 §2.2: the subject of a client's own token is the client.
    sub: clientId,
  };
}
