// The short way for an API that asks about a machine token with each of its requests (RFC 7662). It only says yes; whatever is
// unusual or wrong, or may be somebody else's to know, goes to the engine untouched. The engine's own answer is the reference, and
// test/flow/plain-introspection.test.ts compares the two.
import type { Context, Middleware } from 'koa';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { SecretComparison } from './client-authentication.ts';
import type { FindMachineToken } from './machine-tokens.ts';
import { credentialsOf, peekForm } from './plain-form.ts';
import type { MayHearOf } from './token-policies.ts';

/** A hint is only a hint: what is found is the same with any and with none (RFC 7662 §2.1). */
const FIELDS = new Set(['token', 'token_type_hint', 'client_id', 'client_secret']);

export type PlainIntrospectionParts = {
  readonly issuer: string;
  readonly findClient: (clientId: string) => Client | undefined;
  readonly secrets: SecretComparison;
  readonly findMachineToken: FindMachineToken;
  readonly mayHearOf: MayHearOf;
};

export function plainIntrospection(parts: PlainIntrospectionParts): Middleware {
  const { issuer, findClient, secrets, mayHearOf } = parts;

  /** An outage is the engine's to answer. */
  const findToken: FindMachineToken = (jwt) => parts.findMachineToken(jwt).catch(() => undefined);

  /** The token and how the request is counted, when everything about it is plain and the answer is yes. */
  async function accept(ctx: Context) {
    const form = peekForm(ctx, ENDPOINTS.introspection, FIELDS);
    const credentials = form && credentialsOf(ctx, form);
    const caller = credentials && findClient(credentials.clientId);
    const jwt = form?.['token'];
    if (credentials === undefined || caller === undefined || jwt === undefined) return undefined;
    const address = String(ctx.state['clientAddress'] ?? '');
    const count = secrets.comparePlain({ endpoint: 'introspection', address }, caller, credentials.secret);
    const token = count && (await findToken(jwt));
    if (count === undefined || token === undefined) return undefined;
    const { clientId, aud } = token;
    return mayHearOf(caller.clientId, { kind: 'ClientCredentials', clientId, aud })
      ? { token, count }
      : undefined;
  }

  return async function answerPlainIntrospection(ctx, next) {
    const accepted = await accept(ctx);
    if (accepted === undefined) return next();
    // Nothing is left that could send the request to the engine, which counts for itself.
    await accepted.count();
    const { clientId, jti, aud, scope, iat, exp } = accepted.token;
    ctx.set('Cache-Control', 'no-store');
    ctx.set('Pragma', 'no-cache');
    ctx.body = {
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
    return undefined;
  };
}
