import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { postern } from '../../world/terminal.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const CLIENT_ID = 'https://docs.example/client.json';
const DOCUMENT = {
  client_id: CLIENT_ID,
  client_name: 'Example editor: "quoted" # not a comment',
  logo_uri: 'https://docs.example/logo.png',
  client_uri: 'https://docs.example/',
  redirect_uris: ['http://127.0.0.1/callback', 'https://docs.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};

const root = tempFolder();

const CONFIG = join(root, 'postern.yaml');
const SOURCE = join(root, 'document.json');
const OUT = join(root, 'clients.d', 'example.yaml');

function configure(
  documents = 'client_documents: { hosts: [other.example], scope: openid mcp.tools }\n',
): void {
  writeFileSync(
    CONFIG,
    `issuer: http://localhost:3000\nresources: [{ resource: https://mcp.example/mcp, scopes: [mcp.tools, mcp.admin] }]\nclients_from: [clients.d/*.yaml]\n${documents}`,
  );
}

function publish(changes: Readonly<Record<string, unknown>> = {}): void {
  writeFileSync(SOURCE, JSON.stringify({ ...DOCUMENT, ...changes }));
}

beforeEach(() => {
  rmSync(join(root, 'clients.d'), { recursive: true, force: true });
  mkdirSync(join(root, 'clients.d'));
  configure();
  publish();
});

const pin = (...args: string[]) => postern(['client', 'pin', SOURCE, '--config', CONFIG, ...args]);

describe('postern client pin', () => {
  it('prints a client as YAML that loads, without its logo', async () => {
    const { code, stdout } = await pin();
    expect(code).toBe(0);
    writeFileSync(OUT, stdout);
    const { clients } = await loadConfig(CONFIG, { writeKeys: false });
    expect(clients).toMatchObject([
      {
        clientId: CLIENT_ID,
        clientName: DOCUMENT.client_name,
        clientUri: 'https://docs.example/',
        applicationType: 'native',
        redirectUris: DOCUMENT.redirect_uris,
        grantTypes: ['authorization_code', 'refresh_token'],
        tokenEndpointAuthMethod: 'none',
        scopes: ['openid', 'mcp.tools'],
        consent: 'explicit',
        secrets: [],
      },
    ]);
    expect(stdout).not.toContain('logo');
  });

  it('F1-28: refuses a device by name', async () => {
    const { code, stderr } = await postern(['client', 'pin', '/dev/zero', '--config', CONFIG]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('/dev/zero is a pipe, a device or a socket')]);
  });

  it('prints the same as JSON', async () => {
    const { stdout } = await pin('--json');
    expect(JSON.parse(stdout)).toMatchObject({ client_id: CLIENT_ID, scope: 'openid mcp.tools' });
  });

  it('gives it the scope that is asked for instead, and wants one', async () => {
    const { stdout } = await pin('--json', '--scope', 'mcp.admin');
    expect(JSON.parse(stdout)).toMatchObject({ scope: 'mcp.admin' });
    configure('');
    const { code, stderr } = await pin();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('--scope') });
  });

  it('refuses what would be refused when it is fetched', async () => {
    publish({ client_secret: 'canary-8f2k' });
    const { code, stdout, stderr } = await pin();
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `${CLIENT_ID}: it has client_secret\n`,
    });
  });

  it.each([
    [undefined, 'client_id: is missing'],
    ['example', 'client_id: must be an https URL with a path'],
    ['http://docs.example/c', 'client_id: must be an https URL with a path'],
  ])('refuses a file with client_id %j', async (clientId, words) => {
    publish({ client_id: clientId });
    expect(await pin()).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
  });
});
