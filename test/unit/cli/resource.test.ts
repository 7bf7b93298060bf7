import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postern } from '../../world/terminal.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-resource-'));
const config = join(folder, 'postern.yaml');
const RESOURCES = `
  - resource: https://mcp.example/mcp
    name: Notes
    scopes: [mcp.tools, mcp.admin]
    default_scopes: [mcp.tools]
  - { resource: https://root.example, scopes: [root.read, root.write] }
  - { resource: "http://localhost:4000/mcp/?tenant=a", clients: [svc] }
  - { resource: urn:example:api, scopes: [a] }`;

beforeAll(() => {
  const client =
    '{ client_id: svc, grant_types: [client_credentials], scope: a, client_secret: env:NOT_SET }';
  const keys = 'encryption_keys: [env:NOT_SET]\ncookie_keys: [env:NOT_SET]\n';
  writeFileSync(
    config,
    `issuer: https://id.example/tenant\n${keys}resources:${RESOURCES}\nclients: [${client}]\n`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const metadata = (url: string, ...options: readonly string[]) =>
  postern(['resource', 'metadata', url, '-c', config, ...options]);

describe('postern resource metadata', () => {
  it('MC-44: prints the document, and beside it where to serve it and the header', async () => {
    const { code, stdout, stderr } = await metadata('HTTPS://MCP.example/mcp');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      resource: 'https://mcp.example/mcp',
      authorization_servers: ['https://id.example/tenant'],
      scopes_supported: ['mcp.tools', 'mcp.admin'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
    });
    const place = 'https://mcp.example/.well-known/oauth-protected-resource/mcp';
    expect(stderr).toContain(`Serve this at ${place},`);
    expect(stderr).toContain(`WWW-Authenticate: Bearer resource_metadata="${place}", scope="mcp.tools"\n`);
  });

  it.each([
    ['https://root.example/', 'https://root.example/.well-known/oauth-protected-resource'],
    [
      'http://localhost:4000/mcp/?tenant=a',
      'http://localhost:4000/.well-known/oauth-protected-resource/mcp/?tenant=a',
    ],
  ])('MC-44: has a place of its own for %s', async (url, place) => {
    const { stdout } = await metadata(url, '--json');
    const header = `Bearer resource_metadata="${place}"`;
    expect(JSON.parse(stdout)).toMatchObject({ url: place, www_authenticate: header });
  });

  it.each([
    [
      'https://mcp.example/mcp/',
      'resources has no https://mcp.example/mcp/; it has https://mcp.example/mcp, ',
    ],
    [
      'urn:example:api',
      'urn:example:api has no metadata: only an https URL has a place for it (RFC 9728 §3)',
    ],
  ])('refuses %s', async (url, message) => {
    const { code, stdout, stderr } = await metadata(url);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
  });
});
