// A listening socket with deadlines for slow callers, and a stop that waits for open requests.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { DrainingServer } from './draining-server.ts';

const SECOND = 1000;
/** Slow headers are cut off here, slow bodies at REQUEST_TIMEOUT. */
const HEADERS_TIMEOUT = 8 * SECOND;
const REQUEST_TIMEOUT = 12 * SECOND;
const KEEP_ALIVE_TIMEOUT = 65 * SECOND;
/** Idle connections are closed before this limit. The process needs a higher limit of open files. */
const MAX_CONNECTIONS = 10_000;

export type Address = { readonly host: string; readonly port: number };

/** As a Koa app has it. */
export type App = { callback(): RequestListener };

export type Listener = ReturnType<typeof createListener>;

/** `name` says in errors which listener it is. */
export function createListener(name: string, { host, port }: Address, maxConnections = MAX_CONNECTIONS) {
  let handle: RequestListener | undefined;
  const server = new DrainingServer({
    headersTimeout: HEADERS_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
    connectionsCheckingInterval: SECOND,
  });
  server.on('request', (request, response) => handle?.(request, response));
  // With workers, a full one would return connections to the primary, which would pass them on to other full ones.
  Object.assign(server, { maxConnections, dropMaxConnection: true });
  // Connections that only wait for a next request make room for new ones, long before none is left. Those that
  // hold up a request end by their deadlines.
  server.on('connection', (socket: Socket) => {
    // The operating system forgets the address as soon as the connection is reset; Node remembers it once it was asked for. A request
    // without an address would count against no address, and one is what the audit trail needs.
    if (socket.remoteAddress === undefined) socket.destroy();
    if (server.openConnections > maxConnections * 0.75) server.closeIdleConnections();
  });

  return {
    /** Requests from now on go to `app`; those in flight end where they began. Called before `start`, too. */
    serve(app: App): void {
      handle = app.callback();
    },
    /** Resolves the address in use; rejects with one clear line when it can't be had. */
    async start(): Promise<Address> {
      await once(server.listen(port, host), 'listening').catch((cause: Error) => {
        throw new StartError(`${name} ${host}:${port} can't be used: ${cause.message}`, { cause });
      });
      return { host, port: (server.address() as AddressInfo).port };
    },
    /** Stops accepting, lets requests in flight end, closes the rest after 8 s. */
    stop: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Why the service can't start, in one line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
