// Which limit a client's request counts against. Strangers send an app or an API codes and tokens that are made up, and it
// passes them on. So only what is real counts against the client's own limit: machine tokens, what is exchanged or revoked, and
// live tokens at introspection. Everything else counts against a second limit of the client, which also stops a client
// that looks for tokens by trying (RFC 7662 §4).
import type { Context, Next } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Client } from '../config/config.ts';
import { clientLimitsOf } from '../config/endpoints.ts';
import type { Limits } from '../limits/limits.ts';

/** Where and from where a client says who it is. */
export const shownAt = ({ oidc, state }: KoaContextWithOIDC) => ({
  endpoint: clientLimitsOf(oidc.route)[0],
  address: String(state['clientAddress'] ?? ''),
});

type CountedRequest = ReturnType<typeof shownAt> & { readonly client: Client; isCounted: boolean };
type State = { clientRequest?: CountedRequest };

/** Whether a client has authenticated, or is a public one that named itself and was counted by its address. */
export const hasClient = ({ state }: Pick<Context, 'state'>): boolean =>
  (state as State).clientRequest !== undefined;

export type ClientLimits = ReturnType<typeof createClientLimits>;

export function createClientLimits(limits: Limits) {
  async function take(request: CountedRequest): Promise<void> {
    request.isCounted = true;
    await limits.takeClient(request.endpoint, request.client, request.address);
  }

  return {
    /** The client has authenticated, or is a public one that named itself. */
    admitClient: async (ctx: KoaContextWithOIDC, client: Client): Promise<void> => {
      const { oidc } = ctx;
      const request = { client, ...shownAt(ctx), isCounted: false };
      const { endpoint, address } = request;
      (ctx.state as State).clientRequest = request;
      // Anybody can name a public client: it is counted before anything is looked up, and by address as well. At introspection, what isn't
      // its own counts as a wrong secret.
      if (isPublic(client)) await limits.takeAddress(clientLimitsOf(oidc.route)[1], address);
      const isMachine = oidc.params?.['grant_type'] === 'client_credentials';
      if (isMachine || (isPublic(client) && endpoint !== 'introspection')) await take(request);
    },

    /** A code or a token is real and about to be used up. A refusal leaves it as it is. */
    takeBeforeUse: async (ctx: Pick<Context, 'state'> | undefined): Promise<void> => {
      const request = (ctx?.state as State | undefined)?.clientRequest;
      if (request?.isCounted === false) await take(request);
    },

    /** Counts by the answer what wasn't counted before. */
    countAnswers: async (ctx: Context, next: Next): Promise<void> => {
      // An outage passes as an exception and isn't counted: 503 says nothing about the token.
      await next();
      const request = (ctx.state as State).clientRequest;
      if (request === undefined || request.isCounted) return;
      const { client, endpoint, address } = request;
      if (isActive(ctx.body)) await take(request);
      else if (isPublic(client)) await limits.attemptSecret(endpoint, client.clientId, address, () => false);
      else await limits.takeClient(endpoint, client, address, 'unknown');
    },
  };
}

const isPublic = ({ tokenEndpointAuthMethod }: Client) => tokenEndpointAuthMethod === 'none';

const isActive = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'active' in body && body.active === true;
