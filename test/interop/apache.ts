// Debian's Apache as a separate process, with the configuration that a client program passes. Independent of any module.
import { spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { settings } from './report.ts';

const MODULES = '/usr/lib/apache2/modules';
const READY_MS = 15_000;

export type Apache = { stop(): Promise<void> };

/** `configuration` may contain CERTIFICATE, which becomes the file with the service's certificate. */
export async function startApache(modules: readonly string[], configuration: string): Promise<Apache> {
  // Not in the run's own folder, which Apache's user may not read.
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-apache-'));
  await chmod(folder, 0o755);
  const certificate = path.join(folder, 'tls.crt');
  await copyFile(path.join(settings.folder, 'tls.crt'), certificate);
  await mkdir(path.join(folder, 'htdocs/private/strong'), { recursive: true });
  await mkdir(path.join(folder, 'htdocs/api'));
  for (const page of ['private/index.html', 'private/strong/index.html', 'api/index.html', 'goodbye.html']) {
    await writeFile(path.join(folder, 'htdocs', page), page);
  }
  const { port, protocol } = new URL(settings.app);
  const isTls = protocol === 'https:';
  const secure = [
    'SSLEngine on',
    `SSLCertificateFile ${certificate}`,
    `SSLCertificateKeyFile ${path.join(settings.folder, 'tls.key')}`,
  ];
  const all = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'mime', 'headers', ...modules];
  const file = path.join(folder, 'apache.conf');
  const lines = [
    ...[...all, ...(isTls ? ['ssl'] : [])].map(
      (name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`,
    ),
    `ServerRoot ${folder}`,
    `DocumentRoot ${folder}/htdocs`,
    `PidFile ${folder}/apache.pid`,
    `ErrorLog ${folder}/error.log`,
    'ServerName localhost',
    `Listen ${port}`,
    ...(isTls ? secure : []),
    ...(process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []),
    'DirectoryIndex index.html',
    'TypesConfig /etc/mime.types',
    configuration.replaceAll('CERTIFICATE', certificate),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const child = spawn('/usr/sbin/apache2', ['-D', 'FOREGROUND', '-f', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGTERM'));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    // Shown to explain a failure; a socket can't be its ErrorLog.
    process.stderr.write(await readFile(path.join(folder, 'error.log'), 'utf8').catch(() => ''));
    await rm(folder, { recursive: true, force: true });
  };
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      if ((await fetch(`${settings.app}/goodbye.html`)).ok) return { stop };
    } catch (cause) {
      if (Date.now() > deadline || child.exitCode !== null) {
        await stop();
        throw new Error('Apache did not start', { cause });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The version of an installed package, according to dpkg. */
export async function debianVersion(name: string): Promise<string> {
  const status = await readFile('/var/lib/dpkg/status', 'utf8');
  return new RegExp(`^Package: ${name}\n(?:.+\n)*?Version: (.+)$`, 'm').exec(status)?.[1] ?? '';
}
