// A real TLS server on this machine. This process trusts it while it runs; other processes do if they get its certificate.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate } from './certificate.ts';

export type TlsServer = {
  /** `https://localhost:PORT` */
  readonly origin: string;
  /** For processes that call it: names the file of additional certificates that Node trusts. */
  readonly env: Readonly<Record<string, string>>;
  connections(): number;
  stop(): void;
};

export async function startTlsServer(listener: RequestListener): Promise<TlsServer> {
  const trusted = getCACertificates('default');
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-tls-'));
  const certFile = await makeCertificate(folder, 'localhost');
  const cert = readFileSync(certFile, 'utf8');
  setDefaultCACertificates([...trusted, cert]);

  let connections = 0;
  const server = createServer({ key: readFileSync(path.join(folder, 'tls.key')), cert }, listener);
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
    env: { NODE_EXTRA_CA_CERTS: certFile },
    connections: () => connections,
    stop() {
      setDefaultCACertificates(trusted);
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}
