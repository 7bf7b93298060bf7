// A listening socket with deadlines for slow callers, and a stop that waits for open requests.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { DrainingServer } from './draining-server.ts';

const SECOND = 1000;
/** Slow headers are cut off here, slow bodies at REQUEST_TIMEOUT. */
const HEADERS_TIMEOUT = 8 * SECOND;
const REQUEST_TIMEOUT = 12 * SECOND;
/** A connection whose response isn't read is cut off after this time. */
const UNREAD_TIMEOUT = 20 * SECOND;
const KEEP_ALIVE_TIMEOUT = 65 * SECOND;
/** Idle connections are closed before this limit. The process needs a higher limit of open files. */
const MAX_CONNECTIONS = 10_000;

export type Address = Readonly<{ host: string; port: number }>;

/** The part of a Koa app that a listener needs. */
export type HandlerSource = { callback(): RequestListener };

export type Listener = ReturnType<typeof createListener>;

/** `name` names the listener in errors. */
export function createListener(name: string, { host, port }: Address, maxConnections = MAX_CONNECTIONS) {
  let handle: RequestListener | undefined;
  const server = new DrainingServer({
    headersTimeout: HEADERS_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    connectionsCheckingInterval: SECOND,
  });
  server.cutOffUnread(UNREAD_TIMEOUT);
  server.on('request', (request, response) => {
    // Node parses a packet to its end, even once the connection has sent too many requests.
    if (!request.socket.destroyed) handle?.(request, response);
  });
  // Otherwise a full worker would return connections to the primary, which would pass them on to other full ones.
  Object.assign(server, { maxConnections, dropMaxConnection: true });
  // Idle connections are closed to make room for new ones, long before none is left. Connections with a slow
  // request end by their deadlines.
  server.on('connection', (socket: Socket) => {
    // The operating system forgets the address once the connection is reset; Node remembers it once it has been read. A request without
    // an address would escape the limits, and the audit trail needs one.
    if (socket.remoteAddress === undefined) socket.destroy();
    if (server.openConnections > maxConnections * 0.75) server.closeIdleConnections();
  });

  return {
    /** Sends new requests to `next`; those in flight end where they began. Call it before `start`, too. */
    serve(next: HandlerSource): void {
      handle = next.callback();
    },
    /** Resolves with the address in use. Rejects with StartError when it can't be used. */
    async start(): Promise<Address> {
      await once(server.listen(port, host), 'listening').catch((cause: Error) => {
        throw new StartError(`${name} ${host}:${port} can't be used: ${cause.message}`, { cause });
      });
      return { host, port: (server.address() as AddressInfo).port };
    },
    /** Stops accepting connections, waits for requests in flight, closes the rest after 8 s. */
    stop: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Why the service can't start, in one line for the administrator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
