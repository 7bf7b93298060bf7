// The client that README.md tells a newcomer to paste, pasted as it is printed into the shipped configuration.
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCli } from '../world/process.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-first-client-'));
  await cp('config', path.join(folder, 'config'), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('the first client of README.md stands as it has to below the clients of the shipped file', async () => {
  const readme = await readFile('README.md', 'utf8');
  const [, block = ''] = /```yaml\n(( *)- client_id: my-app[\s\S]*?)\n *```/.exec(readme) ?? [];
  // What a page of Markdown shows: without the indentation of the step that the block belongs to.
  const shown = block.replaceAll(/^ {3}/gm, '').replace('sha256:…', toHash('a secret'));
  expect(shown).toContain('client_id: my-app');
  const file = path.join(folder, 'config/postern.yaml');
  const shipped = await readFile(file, 'utf8');
  await writeFile(file, shipped.replace(/^clients:\n/m, `clients:\n${shown}\n`));
  expect(await runCli(['check', '--config', file])).toMatchObject({ code: 0, stderr: '' });
  const listed = await runCli(['client', 'list', '--config', file, '--json']);
  expect(listed.stdout).toContain('"my-app"');
});

function toHash(secret: string): string {
  return `sha256:${createHash('sha256').update(secret).digest('hex')}`;
}
