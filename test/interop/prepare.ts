// Installs missing requirements of the clients: npm packages into this folder, Debian packages if the run is
// root on Debian; elsewhere it names the missing ones.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ensureServers } from '../world/servers.ts';
import { CACHE, type Client, type Need } from './clients.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;
const BUILD_MS = 30 * 60_000;

export async function prepare(clients: readonly Client[]): Promise<void> {
  await ensureServers(['nginx-light', 'openssl', 'chromium']);
  // npm writes this file last.
  if (!existsSync(join(HERE, 'node_modules/.package-lock.json'))) {
    await run('npm', ['ci', '--prefix', HERE], { maxBuffer: 1 << 26 });
  }
  const needs = clients.flatMap((client) => client.needs ?? []).filter((need) => !isThere(need));
  const missing = [...new Set(needs.map(({ debian }) => debian))];
  if (missing.length > 0) await install(missing);
}

/** The reason why the client can't be built on this machine, or undefined if it was built. */
export async function build({ build: command, folder = '.' }: Client): Promise<string | undefined> {
  if (command === undefined) return undefined;
  mkdirSync(CACHE, { recursive: true });
  const [program = '', ...args] = command;
  const options = { cwd: join(HERE, folder), env: { ...process.env, CACHE }, maxBuffer: 1 << 26 };
  try {
    await run(program, args, { ...options, timeout: BUILD_MS });
    return undefined;
  } catch (error) {
    const { message, stdout = '' } = error as Error & { stdout?: string };
    return `${message}\n${stdout}`.trim().split('\n').slice(-20).join('\n');
  }
}

function isThere({ file }: Need): boolean {
  if (file.startsWith('/')) return existsSync(file);
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, file)));
}

async function install(packages: readonly string[]): Promise<void> {
  const list = packages.join(', ');
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(
      `these clients are Debian packages: ${list}. Install them, or name the clients to try: npm run interop -- openid-client`,
    );
  }
  // RUNLEVEL=1: a package that brings a server must not start it.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  try {
    await run('apt-get', ['update', '-q'], { env, maxBuffer: 1 << 26 });
    const args = ['install', '-qy', '--no-install-recommends', ...packages];
    await run('apt-get', args, { env, maxBuffer: 1 << 26 });
  } catch (cause) {
    throw new Error(`apt-get could not install ${list}`, { cause });
  }
}
