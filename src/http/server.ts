// A listening socket with the deadlines that keep slow callers from holding it, and a stop that lets requests finish.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Koa from 'koa';

const SECOND = 1000;
/** Slow headers are cut off here, slow bodies at REQUEST_TIMEOUT (HT-23, HT-24). */
const HEADERS_TIMEOUT = 8 * SECOND;
const REQUEST_TIMEOUT = 12 * SECOND;
const KEEP_ALIVE_TIMEOUT = 65 * SECOND;
/** A stop waits this long for requests in flight: below the 10 s after which container runtimes kill. */
const DRAIN_TIMEOUT = 8 * SECOND;

export type Address = { readonly host: string; readonly port: number };

export interface Listener {
  /** Resolves the address in use; rejects with one clear line when it can't be had. */
  start(): Promise<Address>;
  /** Stops accepting, lets requests in flight end, closes the rest after 8 s. */
  stop(): Promise<void>;
}

/** `name` says in errors which listener it is. */
export function createListener(name: string, { host, port }: Address, app: Koa): Listener {
  const handle = app.callback();
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
      connectionsCheckingInterval: SECOND,
    },
    (request, response) => void handle(request, response),
  );

  return {
    async start() {
      await listen(server, name, { host, port });
      return { host, port: (server.address() as AddressInfo).port };
    },
    async stop() {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_TIMEOUT);
      await closed;
      clearTimeout(deadline);
    },
  };
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EACCES: 'the port needs more rights',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the host name is not known',
};

async function listen(server: Server, name: string, { host, port }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = REASONS[cause.code ?? ''] ?? cause.message;
      reject(new StartError(`${name} ${host}:${port} can not be used: ${reason}`, { cause }));
    });
    server.listen(port, host, resolve);
  });
  server.removeAllListeners('error');
}

/** Why the service can't start, in one line for the operator. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartError';
  }
}
