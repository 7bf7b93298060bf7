// A client document in the file: the service works with what was reviewed, and asks nobody for another.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type OpenWorld, startWorld, worldClients } from '../../world/world.ts';
import { type DocumentServer, startDocumentServer } from './document-server.ts';
import { postern } from '../../world/terminal.ts';

const CALLBACK = 'https://docs.example/callback';
const API = 'https://mcp.example/mcp';

let host: DocumentServer;
let world: OpenWorld;
let clientId: string;

const published = (changes: object = {}) => ({
  client_id: clientId,
  client_name: 'Example editor',
  logo_uri: 'https://docs.example/logo.png',
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
  ...changes,
});

beforeAll(async () => {
  host = await startDocumentServer();
  clientId = `${host.origin}/client.json`;
  world = await startWorld({
    config: {
      outgoing: { internal_hosts: ['localhost'] },
      resources: [{ resource: API, scopes: ['mcp.tools'], introspection_clients: ['rs1'] }],
      clients: [
        ...worldClients()
          .filter(({ client_id: id }) => id === 'rs1')
          .map((client) => ({ ...client, scope: 'mcp.tools' })),
        {
          client_id: clientId,
          client_name: 'Example editor',
          redirect_uris: [CALLBACK],
          grant_types: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_method: 'none',
          scope: 'openid mcp.tools',
        },
      ],
    },
  });
});
afterAll(async () => {
  await world.stop();
  host.stop();
});
beforeEach(() => host.publish(published()));

const pin = (...args: string[]) => postern(['client', 'pin', ...args, '--config', world.configFile]);

it('MC-32: a pinned document is made of the published one', async () => {
  const { code, stdout } = await pin(clientId, '--scope', 'openid mcp.tools', '--json');
  expect({ code, client: JSON.parse(stdout) as object }).toEqual({
    code: 0,
    client: {
      client_id: clientId,
      client_name: 'Example editor',
      application_type: 'web',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      scope: 'openid mcp.tools',
    },
  });
  host.publish();
  expect(await pin(clientId, '--scope', 'openid')).toMatchObject({
    code: 1,
    stderr: `${clientId}: its host answered 404\n`,
  });
  expect(await pin('http://docs.example/c', '--scope', 'openid')).toMatchObject({ code: 1 });
  expect(await pin()).toMatchObject({ code: 2 });
});
