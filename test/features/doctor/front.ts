// A real nginx with TLS in front of the service, on one port for a whole test file, so that the issuer stays while its
// configuration changes. A fixture: each case writes its fault into `location` or `server`.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort, requireServer } from '../../world/servers.ts';

const ANSWERS_MS = 60_000;

export type Certificate = { readonly names?: string; readonly days?: number };

export type Front = {
  readonly port: number;
  /** PEM of the certificate that is trusted. */
  readonly certificate: string;
  /** Restarts nginx with this configuration. */
  serve(configuration: FrontConfiguration): Promise<void>;
  /** Creates another certificate under this file name, for `serve({ certificate })`. */
  makeCertificate(name: string, certificate: Certificate): Promise<void>;
  stop(): Promise<void>;
};

export type FrontConfiguration = {
  /** Where the service listens: `127.0.0.1:3000`. */
  readonly upstream: string;
  /** Replaces the forwarding of docs/reverse-proxy.md. */
  readonly forwarding?: string;
  /** Replaces `proxy_pass http://postern;` */
  readonly pass?: string;
  /** Added to the location and the server block. */
  readonly location?: string;
  readonly server?: string;
  readonly certificate?: string;
};

const FORWARDING =
  'proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;';
const BUFFERS =
  'large_client_header_buffers 4 16k; client_max_body_size 64k; proxy_buffer_size 16k; proxy_buffers 8 16k;';

export async function makeFront(): Promise<Front> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-front-'));
  await mkdir(path.join(folder, 'tmp'));
  const port = await freePort();
  let nginx: ChildProcess | undefined;

  async function makeCertificate(name: string, { names = 'DNS:localhost', days = 60 }: Certificate) {
    const openssl = (...args: readonly string[]) =>
      promisify(execFile)(requireServer('openssl'), [...args], { cwd: folder });
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
    await openssl(
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      ...request,
      '-addext',
      `subjectAltName=${names}`,
    );
    // In two steps, because only the second one accepts an end date in the past.
    const signed = ['-in', `${name}.csr`, '-signkey', `${name}.key`, '-out', `${name}.crt`];
    await openssl('x509', '-req', ...signed, '-days', String(days), '-copy_extensions', 'copy');
  }

  async function end(): Promise<void> {
    const ended = new Promise((resolve) => nginx?.once('exit', resolve));
    if (nginx?.exitCode === null && nginx.kill('SIGTERM')) await ended;
  }

  await makeCertificate('good', {});
  return {
    port,
    certificate: await readFile(path.join(folder, 'good.crt'), 'utf8'),
    makeCertificate,
    async serve(configuration) {
      await end();
      await writeFile(path.join(folder, 'nginx.conf'), toText(configuration, port));
      nginx = spawn(requireServer('nginx-light'), ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await untilItListens(port, () => readFile(path.join(folder, 'error.log'), 'utf8'));
    },
    async stop() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function toText(configuration: FrontConfiguration, port: number): string {
  const {
    upstream,
    forwarding = FORWARDING,
    pass = 'proxy_pass http://postern;',
    location = '',
  } = configuration;
  const { server = '', certificate = 'good' } = configuration;
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path tmp/${name};`,
  );
  return `user root; daemon off; pid nginx.pid; worker_processes 1; events {}
http {
  access_log off;
  ${temporary.join('\n  ')}
  upstream postern { server ${upstream}; keepalive 8; }
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${certificate}.crt;
    ssl_certificate_key ${certificate}.key;
    ${BUFFERS}
    ${server}
    location / {
      ${pass}
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      ${forwarding}
      ${location}
    }
  }
}
`;
}

async function untilItListens(port: number, log: () => Promise<string>): Promise<void> {
  const deadline = Date.now() + ANSWERS_MS;
  for (;;) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isUp) return;
    if (Date.now() > deadline) throw new Error(`nginx did not answer: ${await log().catch(() => '')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
