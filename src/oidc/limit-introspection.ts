// What an introspection request counts against follows from its answer. An API asks about whatever its callers send, so only live
// tokens count against the API's own limit. All other answers share a second limit, which also stops a client that looks for
// tokens by trying (RFC 7662 §4).
import type { Context, Middleware } from 'koa';
import type { Client } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';

type State = { introspectingClient?: Client };

/** `client` has authenticated, or is a public one that named itself. */
export function acceptForIntrospection(state: State, client: Client): void {
  state.introspectingClient = client;
}

/** Whether the client showed its secret. Anybody can name a public client. */
export function isAuthenticatedForIntrospection({ state }: Context): boolean {
  const { introspectingClient: client } = state as State;
  return client !== undefined && client.tokenEndpointAuthMethod !== 'none';
}

export function limitIntrospection(limits: Pick<Limits, 'takeClient' | 'takeUnknownToken'>): Middleware {
  return async function limitIntrospectionAnswer(ctx, next) {
    // An outage passes as an exception and isn't counted: 503 says nothing about the token.
    await next();
    const { introspectingClient: client, clientAddress } = ctx.state as State & { clientAddress: string };
    if (client === undefined) return;
    if (isActive(ctx.body)) await limits.takeClient('introspection', client, clientAddress);
    else await limits.takeUnknownToken(client, clientAddress);
  };
}

function isActive(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'active' in body && body.active === true;
}
