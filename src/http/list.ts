// The list of middleware as those see it who answer in front of it. Owns what they copy of its answers.
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';

/** As a Koa app's callback is. */
export type List = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** These belong to one answer, or one connection, alone. */
const PRIVATE = ['Connection', 'Set-Cookie'];

/** Names and values in turn, as they go out; undefined where something in it is for one caller alone. */
export function headOf(response: ServerResponse): readonly string[] | undefined {
  if (PRIVATE.some((name) => response.hasHeader(name))) return undefined;
  // Every outgoing message has the method; the types give it to one kind alone.
  const named = response as ServerResponse & Pick<ClientRequest, 'getRawHeaderNames'>;
  return named.getRawHeaderNames().flatMap((name) => [name, String(response.getHeader(name))]);
}
