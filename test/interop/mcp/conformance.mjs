// The suite of the Model Context Protocol for authorization servers: @modelcontextprotocol/conformance.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Person } from '../person.ts';
import { check, settings, version, versionOf } from '../report.ts';
import { CLIENT_IDS } from './server.ts';

const NAME = '@modelcontextprotocol/conformance';
version(versionOf(NAME));
const program = path.resolve('node_modules', NAME, 'dist/index.js');
const { port } = new URL(settings.app);

/** Every scenario of authorization servers, without a scope and with `resource`. */
async function run(clientId) {
  const options = ['--url', settings.issuer, '--client-id', clientId, '--resource', `${settings.app}/mcp`];
  const folder = await mkdtemp(path.join(settings.folder, 'conformance-'));
  const child = spawn(process.execPath, [program, 'authorization', ...options, '-p', port, '-o', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith(`${settings.issuer}/oauth/authorize?`)) void new Person().open(line.trim());
  }
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('checks.json'));
  const checks = files.map(async (file) => JSON.parse(await readFile(path.join(folder, file), 'utf8')));
  return (await Promise.all(checks)).flat();
}

for (const [kind, clientId] of Object.entries(CLIENT_IDS)) {
  const checks = await run(clientId);
  const ids = checks.map(({ id }) => id);
  check(ids.includes('authorization-code-grant'), `${kind}: ${ids.join(', ')}`, checks);
  check(
    checks.every(({ status }) => status === 'SUCCESS'),
    `${kind}: no failure, no warning`,
    checks,
  );
}
