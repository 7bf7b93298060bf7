// Redis over TLS as an operator sets it up: a private authority by NODE_EXTRA_CA_CERTS, and no connection without it.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { findServer, freePort, startRedis } from '../servers.ts';
import { writeWorldConfig, WORLD_ENV } from '../world/world.ts';

const run = promisify(execFile);

it.skipIf(findServer('openssl') === undefined)('a rediss:// URL is a checked certificate', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-tls-'));
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
    ...subject,
  ]);
  const port = await freePort();
  const tls = ['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key];
  const server = await startRedis({
    settings: [...tls, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no'],
  });
  const store = `rediss://127.0.0.1:${port}`;
  const { configFile } = await writeWorldConfig(folder, { store }, [await freePort(), await freePort()]);
  const check = async (env: Readonly<Record<string, string>>) =>
    run(process.execPath, ['dist/main.js', 'store', 'check', '--config', configFile], {
      env: { ...process.env, ...WORLD_ENV, ...env },
    }).catch((error: unknown) => error as { readonly stdout: string; readonly stderr: string });
  expect((await check({ NODE_EXTRA_CA_CERTS: cert })).stdout).toContain(`${store}: better: appendonly is no`);
  expect((await check({})).stderr).toContain(
    `the store at ${store} can not be used: self-signed certificate`,
  );
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
