// docs/mcp.md: its servers are those that `npm run interop` runs, and its metadata belongs to its configuration.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { testFolder } from '../../world/temp-folder.ts';

const PAGE = readFileSync('docs/mcp.md', 'utf8');
const blockOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(PAGE)?.[1] ?? '';

it.each([
  ['js', 'server.mjs'],
  ['python', 'server.py'],
])('docs/mcp.md has the %s server that real clients were tried with', (language, file) => {
  expect(blockOf(language)).toBe(readFileSync(path.join('test/interop/mcp', file), 'utf8'));
});

it('MC-44: docs/mcp.md has the metadata and the header that belong to its configuration', async () => {
  const config = path.join(testFolder(), 'postern.yaml');
  const head =
    'issuer: https://id.example.com\nencryption_keys: [env:NOT_SET]\ncookie_keys: [env:NOT_SET_EITHER]\n';
  writeFileSync(config, head + blockOf('yaml'));
  const { issuer, resources } = await loadConfig(config, { readSecrets: false, writeKeys: false });
  const [{ resource, name, scopes, defaultScopes } = expect.fail('no resource')] = resources;
  expect(JSON.parse(blockOf('json'))).toEqual({
    resource,
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: name,
  });
  const { origin, pathname } = new URL(resource);
  const place = `${origin}/.well-known/oauth-protected-resource${pathname}`;
  expect(PAGE).toContain(`\`${place}\``);
  expect(blockOf('text')).toBe(
    `WWW-Authenticate: Bearer resource_metadata="${place}", scope="${defaultScopes.join(' ')}"\n`,
  );
});
