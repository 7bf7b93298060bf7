// Requests with an issued token: an API introspects or presents it, a client revokes it.
import { type Answer, get, type Parameters } from './requests.ts';
import { type ClientId, postAs } from './token-endpoint.ts';
import type { World } from './world.ts';

type Place = Pick<World, 'base'>;

/** Introspects a token; resolves the body of the answer. */
export async function introspect(
  world: Place,
  token: string | undefined,
  caller: ClientId = 'rs1',
): Promise<Record<string, unknown>> {
  return (await introspection(world, token, caller)).body;
}

/** Introspects a token; resolves the whole answer. */
export async function introspection(
  world: Place,
  token: string | undefined,
  caller: ClientId = 'rs1',
  changes: Parameters = {},
): Promise<Answer> {
  return postAs(world, caller, '/oauth/introspect', { token: given(token), ...changes });
}

export async function revoke(
  world: Place,
  token: string | undefined,
  caller: ClientId = 'web',
  changes: Parameters = {},
): Promise<Answer> {
  return postAs(world, caller, '/oauth/revoke', { token: given(token), ...changes });
}

export async function userinfo(world: Place, token: string | undefined): Promise<Answer> {
  return get(world, '/oauth/userinfo', { authorization: `Bearer ${given(token)}` });
}

/** Throws if there is no token: the test would pass for the wrong reason. */
function given(token: string | undefined): string {
  if (token === undefined) throw new Error('no token');
  return token;
}
