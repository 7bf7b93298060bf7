// mcp-remote, as a desktop app starts it: it speaks to the app over stdio, and opens the person's browser.
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Person } from '../person.ts';
import { check, settings, version, versionOf } from '../report.ts';
import { CLIENT_IDS, EXPIRED_MS, SERVERS, startServer } from './server.ts';

version(versionOf('mcp-remote'));
const program = createRequire(import.meta.url).resolve('mcp-remote/dist/proxy.js');
const resource = `${settings.app}/mcp`;
const stop = await startServer(SERVERS.node, { issuer: settings.issuer, resource });

for (const [kind, clientId] of Object.entries(CLIENT_IDS)) {
  const person = new Person();
  let visits = 0;
  const identity =
    kind === 'registered'
      ? ['--static-oauth-client-info', JSON.stringify({ client_id: clientId })]
      : ['--client-metadata-url', clientId];

  async function start() {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [program, resource, ...identity],
      // It goes on where no browser can be opened, and prints the address.
      env: { ...process.env, BROWSER: 'true', MCP_REMOTE_CONFIG_DIR: path.join(settings.folder, kind) },
      stderr: 'pipe',
    });
    createInterface({ input: transport.stderr }).on('line', (line) => {
      process.stderr.write(`${line}\n`);
      if (!line.startsWith(`${settings.issuer}/oauth/authorize?`)) return;
      visits += 1;
      void person.open(line.trim());
    });
    const client = new Client({ name: 'desktop', version: '1.0.0' });
    await client.connect(transport);
    return client;
  }
  const whoami = async (client) => (await client.callTool({ name: 'whoami' })).content[0].text;

  const client = await start();
  check(
    (await whoami(client)) === 'usr_fixture_person_ida' && visits === 1,
    `${kind}: sign-in, consent, a tool call`,
  );
  await new Promise((resolve) => setTimeout(resolve, EXPIRED_MS));
  check((await whoami(client)) === 'usr_fixture_person_ida', `${kind}: a tool call after the token expired`);
  check(visits === 1, `${kind}: refreshed, without a page`, visits);
  await client.close();
  const again = await start();
  check(
    (await whoami(again)) === 'usr_fixture_person_ida' && visits === 1,
    `${kind}: a second start`,
    visits,
  );
  await again.close();
}
stop();
