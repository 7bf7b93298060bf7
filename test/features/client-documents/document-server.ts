// A real host with TLS on this machine that publishes metadata documents, trusted by this process while it runs.
import { startTlsServer, type TlsServer } from '../../world/tls-server.ts';

export type DocumentServer = TlsServer & {
  /** Sends text as it is. Without a body the answer is 404. */
  publish(body?: object | string, status?: number): void;
};

export async function startDocumentServer(): Promise<DocumentServer> {
  let page: { readonly body: object | string | undefined; readonly status: number } = {
    body: undefined,
    status: 200,
  };
  const server = await startTlsServer((_request, response) => {
    const { body, status } = page;
    response.writeHead(body === undefined ? 404 : status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  });
  return {
    ...server,
    publish(body, status = 200) {
      page = { body, status };
    },
  };
}
