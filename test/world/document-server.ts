// A real host with TLS on this machine that publishes metadata documents, trusted by this process while it runs.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { requireServer } from './servers.ts';

export type DocumentServer = {
  /** `https://localhost:PORT` */
  readonly origin: string;
  connections(): number;
  /** Text is sent as it is. Without a body the answer is 404. */
  publish(body?: object | string, status?: number): void;
  stop(): void;
};

export async function startDocumentServer(): Promise<DocumentServer> {
  const trusted = getCACertificates('default');
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-documents-'));
  const [keyFile, certFile] = [path.join(folder, 'key'), path.join(folder, 'cert')];
  const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '2'];
  const names = ['-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync(requireServer('openssl'), ['req', ...made, ...names, ...files], { stdio: 'ignore' });
  const cert = readFileSync(certFile, 'utf8');
  const key = readFileSync(keyFile, 'utf8');
  rmSync(folder, { recursive: true });
  setDefaultCACertificates([...trusted, cert]);

  let page: { readonly body: object | string | undefined; readonly status: number } = {
    body: undefined,
    status: 200,
  };
  let connections = 0;
  const server = createServer({ key, cert }, (_request, response) => {
    const { body, status } = page;
    response.writeHead(body === undefined ? 404 : status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    publish(body, status = 200) {
      page = { body, status };
    },
    stop() {
      setDefaultCACertificates(trusted);
      server.closeAllConnections();
      server.close();
    },
  };
}
