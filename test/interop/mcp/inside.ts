// The processes in the separate network: the service, the clients, and the host of their documents.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import path from 'node:path';
import { NameServer } from '../../world/name-server.ts';
import { serveCalls } from '../../world/namespace.ts';
import { CLIENTS } from '../clients.ts';
import { tryAll } from '../try-all.ts';
import { DOCUMENTS } from './documents.ts';

const folder = process.env['POSTERN_TEST_TLS'] ?? '';

async function publish(): Promise<void> {
  const names = new NameServer();
  await names.listen();
  names.script(DOCUMENTS.host, [[DOCUMENTS.address]]);
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(path.join(folder, name)));
  const server = createServer({ key, cert }, ({ url }, response) => {
    const document = {
      client_id: `https://${DOCUMENTS.host}${url}`,
      client_name: 'Desktop',
      redirect_uris: [
        'http://127.0.0.1/callback',
        'http://localhost/callback',
        'http://localhost/oauth/callback',
      ],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(443, DOCUMENTS.address, resolve));
}

const inside = {
  async tryNamed(names: readonly string[]) {
    process.env['DOCUMENTS'] = '1';
    await publish();
    return tryAll(CLIENTS.filter(({ name }) => names.includes(name)));
  },
};
export type Inside = typeof inside;

serveCalls(inside);
