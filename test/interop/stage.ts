// The service for the real clients: the built one as a separate process, behind nginx with TLS, configured by
// postern.yaml beside. Manages ports and the certificate; knows no client.
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { freePort, requireServer } from '../world/servers.ts';
import { makeCertificate } from '../world/certificate.ts';

const HERE = import.meta.dirname;
const READY_MS = 30_000;
/** Fixture values for the references of postern.yaml. */
export const KEYS = {
  TEST_ENCRYPTION_KEY: 'qY7cX2vLr0Zt5nUeKf9hJ4mPwB1sDgA8oC6iE3xTzRk',
  TEST_COOKIE_KEY: 'cookie-Ab3Cd5Ef7Gh9Ij1KlMn0Op2Qr4St6Uv8Wx',
};
const PROXY = 8443;
/** The secret that all clients of postern.yaml share. */
const SECRET = 'interop-fixture-Qm3vT8xZ5kN1rB7yL9wC2sD6fH4jP0a';

export type Stage = {
  readonly issuer: string;
  readonly clientSecret: string;
  readonly folder: string;
  /** The free port that replaces one of postern.yaml. */
  readonly portFor: (port: number) => number;
  /** For client programs: makes them trust the certificate, each in the way of its platform. */
  readonly env: Readonly<Record<string, string>>;
  readonly log: () => string;
  stop(): Promise<void>;
};

export async function startStage(clientSecret: string = SECRET): Promise<Stage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-interop-'));
  const portFor = await writeConfig(folder, clientSecret);
  const certificate = await makeCertificate(folder, 'localhost');
  const service = startService(path.join(folder, 'postern.yaml'), await trustedBy(folder, certificate));
  const nginx = await startNginx(folder, portFor(PROXY), portFor(3100));
  const issuer = `https://localhost:${portFor(PROXY)}`;
  tls.setDefaultCACertificates([...tls.getCACertificates(), await readFile(certificate, 'utf8')]);
  const stop = async () => {
    nginx.kill('SIGTERM');
    await service.end();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(`${issuer}/.well-known/openid-configuration`, service.ended);
  } catch (cause) {
    await stop();
    throw new Error(`the service did not start: ${service.output()}`, { cause });
  }
  return {
    issuer,
    clientSecret,
    folder,
    portFor,
    env: {
      NODE_EXTRA_CA_CERTS: certificate,
      SSL_CERT_FILE: certificate,
      REQUESTS_CA_BUNDLE: certificate,
    },
    log: service.output,
    stop,
  };
}

/** The file of additional trusted certificates: those of the apps, and of hosts of documents if there are any. */
async function trustedBy(folder: string, certificate: string): Promise<string> {
  const before = process.env['NODE_EXTRA_CA_CERTS'];
  const files = [certificate, ...(before === undefined ? [] : [before])];
  const trusted = path.join(folder, 'trusted.crt');
  await writeFile(trusted, (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n'));
  return trusted;
}

/** Starts the service as an administrator does. The run needs only dist/, not src/. */
function startService(configFile: string, trusted: string) {
  const child = spawn(process.execPath, [path.resolve('dist/main.js'), 'serve', '--config', configFile], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_EXTRA_CA_CERTS: trusted,
      ...KEYS,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    ended,
    output: () => output,
    end() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Writes the fixture with a free port for each port that it names. */
async function writeConfig(folder: string, clientSecret: string): Promise<(port: number) => number> {
  const fixture = await readFile(path.join(HERE, 'postern.yaml'), 'utf8');
  const ports = new Map<string, number>();
  for (const [port] of fixture.matchAll(/(?<=port: |localhost:|127\.0\.0\.1:)\d{4}/g)) {
    if (!ports.has(port)) ports.set(port, await freePort());
  }
  const here = fixture
    .replace(/(?<=port: |localhost:|127\.0\.0\.1:)\d{4}/g, (port) => String(ports.get(port)))
    .replaceAll(`client_secret: ${SECRET}`, `client_secret: ${JSON.stringify(clientSecret)}`);
  await writeFile(path.join(folder, 'postern.yaml'), here);
  await copyFile(path.join(HERE, 'users.yaml'), path.join(folder, 'users.yaml'));
  return (port) => {
    const free = ports.get(String(port));
    if (free === undefined) throw new Error(`postern.yaml names no port ${port}`);
    return free;
  };
}

async function startNginx(folder: string, port: number, upstream: number): Promise<ChildProcess> {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path tmp/${name};`,
  );
  const configuration = `daemon off; user root; pid nginx.pid; worker_processes 1; events {}
http {
  ${paths.join(' ')} access_log off;
  server {
    listen 127.0.0.1:${port} ssl; listen [::1]:${port} ssl;
    ssl_certificate tls.crt; ssl_certificate_key tls.key;
    location / {
      proxy_pass http://127.0.0.1:${upstream};
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_buffer_size 16k; proxy_buffers 8 16k;
    }
  }
}
`;
  await mkdir(path.join(folder, 'tmp'));
  await writeFile(path.join(folder, 'nginx.conf'), configuration);
  const args = ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'];
  const nginx = spawn(requireServer('nginx-light'), args, { stdio: 'ignore' });
  process.once('exit', () => nginx.kill('SIGTERM'));
  return nginx;
}

async function untilReady(url: string, ended: Promise<void>): Promise<void> {
  const deadline = Date.now() + READY_MS;
  let isOver = false;
  void ended.then(() => (isOver = true));
  while (!isOver && Date.now() < deadline) {
    // The proxy answers 502 until the service is up.
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no answer from ${url}`);
}
