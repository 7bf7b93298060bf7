// An HTTP server on a port of this machine, for one test.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Starts a server with this handler and resolves its port. */
export async function answerWith(handle: RequestListener): Promise<number> {
  const server = createServer(handle);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
