// docs/mcp.md: its servers are those that `npm run interop` runs, and its configuration and output are real.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { postern } from '../world/terminal.ts';

const PAGE = readFileSync('docs/mcp.md', 'utf8');
const blockOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(PAGE)?.[1] ?? '';

it.each([
  ['js', 'server.mjs'],
  ['python', 'server.py'],
])('docs/mcp.md has the %s server that real clients were tried with', (language, file) => {
  expect(blockOf(language)).toBe(readFileSync(path.join('test/interop/mcp', file), 'utf8'));
});

it('docs/mcp.md prints what resource metadata says of its configuration', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-mcp-'));
  const config = path.join(folder, 'postern.yaml');
  const head = 'issuer: https://id.example.com\nencryption_keys: [env:NOT_SET]\ncookie_keys: [env:NOT_SET]\n';
  writeFileSync(config, head + blockOf('yaml'));
  const [, ...args] =
    /`postern (resource metadata \S+)`/.exec(PAGE)?.[0].replaceAll('`', '').split(' ') ?? [];
  const { code, stdout, stderr } = await postern([...args, '-c', config]);
  rmSync(folder, { recursive: true });
  expect([code, args.length]).toEqual([0, 3]);
  const [place, ...header] = stderr.split('\n');
  expect(blockOf('text')).toBe(`${place}\n${stdout}${header.join('\n')}`);
});
