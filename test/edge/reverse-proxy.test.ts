// Debian's nginx in front of the service, with TLS and the exact block of docs/reverse-proxy.md. Only
// ports, certificate and log are replaced for the test.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, requireServer } from '../world/servers.ts';
import { authorizationPath } from '../world/authorization-request.ts';
import { formOf } from '../world/browser.ts';
import { basic } from '../world/token-endpoint.ts';
import { CALLBACK, PASSWORDS, startWorld, type World } from '../world/world.ts';
import { tempFolder } from '../world/temp-folder.ts';
import { makeCertificate } from '../world/certificate.ts';

const ISSUER = 'https://id.example.com';
const NGINX_ANSWERS_MS = 10_000;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const folder = tempFolder();
let world: World;
let nginx: ChildProcess | undefined;
let ports: { readonly http: number; readonly https: number };
let certificate: string;

beforeAll(async () => {
  world = await startWorld({
    issuer: ISSUER,
    config: { trusted_proxies: ['127.0.0.1', '::1'], cors: { allowed_origins: ['https://tools.example'] } },
  });
  ports = { http: await freePort(), https: await freePort() };
  certificate = await readFile(await makeCertificate(folder, 'id.example.com'), 'utf8');
  await writeConfiguration();
  nginx = spawn(requireServer('nginx-light'), ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await untilItAnswers();
});
afterAll(async () => {
  const ended = new Promise((resolve) => nginx?.once('exit', resolve));
  if (nginx?.exitCode === null && nginx.kill('SIGTERM')) await ended;
  await world.stop();
});

/** The document's block with the replacements of this test; each replaced text must be there. */
async function writeConfiguration(): Promise<void> {
  const document = await readFile('docs/reverse-proxy.md', 'utf8');
  let block = /```nginx\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
  const places: readonly [string, string][] = [
    ['server 127.0.0.1:3000;', `server 127.0.0.1:${new URL(world.base).port};`],
    ['listen 80;', `listen 127.0.0.1:${ports.http};`],
    ['listen [::]:80;', ''],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${ports.https} ssl http2;`],
    ['listen [::]:443 ssl http2;', ''],
    ['/etc/nginx/tls/id.example.com.crt', path.join(folder, 'tls.crt')],
    ['/etc/nginx/tls/id.example.com.key', path.join(folder, 'tls.key')],
    ['/var/log/nginx/postern.log', path.join(folder, 'postern.log')],
  ];
  for (const [documented, here] of places) {
    if (!block.includes(documented)) throw new Error(`docs/reverse-proxy.md no longer has: ${documented}`);
    block = block.replace(documented, here);
  }
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path tmp/${name};`,
  );
  await mkdir(path.join(folder, 'tmp'));
  await writeFile(
    path.join(folder, 'nginx.conf'),
    `daemon off;\npid nginx.pid;\nworker_processes 1;\nevents {}\nhttp {\n${paths.join('\n')}\n${block}}\n`,
  );
}

type Answered = { readonly status: number; readonly headers: Headers; readonly text: string };
type Options = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The loopback address of the client. */
  readonly from?: string;
  readonly plain?: boolean;
};

/** Sends a request as a client on the network would, except that the name resolves to this machine. */
async function askThrough(
  target: string,
  { method = 'GET', headers = {}, body = '', from = '127.0.0.2', plain = false }: Options = {},
) {
  const where = { host: '127.0.0.1', localAddress: from, method, path: target, agent: false } as const;
  const sent = { host: 'id.example.com', ...headers };
  return new Promise<Answered>((resolve, reject) => {
    const request = plain
      ? httpRequest({ ...where, port: ports.http, headers: sent })
      : httpsRequest({
          ...where,
          port: ports.https,
          headers: sent,
          ca: certificate,
          servername: 'id.example.com',
        });
    request.once('error', reject);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const received = new Headers();
        for (const [name, values] of Object.entries(response.headersDistinct)) {
          for (const value of values ?? []) received.append(name, value);
        }
        resolve({
          status: response.statusCode ?? 0,
          headers: received,
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
    request.end(body);
  });
}

async function untilItAnswers(): Promise<void> {
  const deadline = Date.now() + NGINX_ANSWERS_MS;
  for (;;) {
    try {
      await askThrough('/oauth/jwks.json');
      return;
    } catch (cause) {
      if (Date.now() > deadline || nginx?.exitCode !== null) {
        const log = await readFile(path.join(folder, 'error.log'), 'utf8').catch(() => '');
        throw new Error(`nginx did not answer: ${log}`, { cause });
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

const guess = async (from: string, forwarded: string) => {
  const body = 'grant_type=client_credentials';
  const headers = {
    ...FORM,
    authorization: basic('svc', 'wrong'),
    'x-forwarded-for': forwarded,
    'content-length': String(body.length),
  };
  return askThrough('/oauth/token', { method: 'POST', from, headers, body });
};

describe('the service behind nginx, as documented', () => {
  it('says in discovery what the issuer is, and nothing of the hop in between', async () => {
    const { status, headers, text } = await askThrough('/.well-known/openid-configuration');
    expect(status).toBe(200);
    const document = JSON.parse(text) as Record<string, unknown>;
    expect(document['issuer']).toBe(ISSUER);
    for (const url of text.match(/https?:\/\/[^"]+/g) ?? []) expect(url.startsWith(ISSUER)).toBe(true);
    expect(headers.get('strict-transport-security')).toMatch(/max-age=31536000/);
    const again = await askThrough('/.well-known/openid-configuration', {
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  });

  it('HT-08: plain http is sent to https', async () => {
    const answer = await askThrough('/oauth/logout?x=1', { plain: true });
    expect([answer.status, answer.headers.get('location')]).toEqual([301, `${ISSUER}/oauth/logout?x=1`]);
  });

  it('HT-08: signs a person in with cookies that are Secure, whatever X-Forwarded-Proto says', async () => {
    const cookies = new Map<string, string>();
    const attributes: string[] = [];
    async function step(target: string, options: Options = {}): Promise<Answered> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = {
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'evil.example',
        cookie,
        ...options.headers,
      };
      const answer = await askThrough(target, { ...options, headers });
      for (const header of answer.headers.getSetCookie()) {
        attributes.push(header);
        const [name = '', value = ''] = (header.split(';', 1)[0] ?? '').split(/=(.*)/s);
        cookies.set(name, value);
      }
      return answer;
    }
    async function follow(first: Answered): Promise<{ url: string; answer: Answered }> {
      let [url, answer] = [ISSUER, first];
      for (let hops = 0; hops < 10; hops += 1) {
        const location = answer.headers.get('location');
        if (location === null) break;
        url = new URL(location, ISSUER).href;
        if (!url.startsWith(`${ISSUER}/`)) break;
        answer = await step(url.slice(ISSUER.length));
      }
      return { url, answer };
    }
    async function submit(page: Answered, action: string, fields: Readonly<Record<string, string>>) {
      const form = formOf({ url: ISSUER, ...page }, action);
      expect(form.action.startsWith(`${ISSUER}/`)).toBe(true);
      const body = new URLSearchParams({ ...form.fields, ...fields }).toString();
      const headers = { ...FORM, origin: ISSUER, 'content-length': String(Buffer.byteLength(body)) };
      return follow(await step(form.action.slice(ISSUER.length), { method: 'POST', headers, body }));
    }

    const login = await follow(await step(authorizationPath()));
    const consent = await submit(login.answer, '/login', { username: 'alice', password: PASSWORDS.alice });
    const left = await submit(consent.answer, '/consent', {});
    const callback = new URL(left.url);
    expect(`${callback.origin}${callback.pathname}`).toBe(CALLBACK);
    expect(callback.searchParams.get('iss')).toBe(ISSUER);
    expect(callback.searchParams.get('code')).toMatch(/^[\w-]{43}$/);
    expect(attributes.length).toBeGreaterThan(2);
    for (const cookie of attributes) {
      expect(cookie).toMatch(/^__(Host|Secure)-/);
      expect(cookie).toMatch(/; secure/i);
      expect(cookie).toMatch(/; httponly/i);
    }
  });

  it('HT-06: counts by the address that nginx saw, not by what the client wrote', async () => {
    for (let count = 0; count < 20; count += 1) {
      expect((await guess('127.0.0.7', `203.0.113.${count}`)).status).toBe(401);
    }
    const limited = await guess('127.0.0.7', '203.0.113.99');
    expect(limited.status).toBe(429);
    expect(limited.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await guess('127.0.0.8', '127.0.0.7')).status).toBe(401);
  });

  it('HT-11: keeps to one spelling of each path', async () => {
    for (const target of [
      '/oauth//jwks.json',
      '/oauth/./jwks.json',
      '/oauth/%6awks.json',
      '/OAUTH/jwks.json',
      '/oauth/jwks.json/',
    ]) {
      expect((await askThrough(target)).status, target).toBe(404);
    }
  });

  it('logs no query', async () => {
    await askThrough('/oauth/logout?id_token_hint=canary-hint');
    const log = await readFile(path.join(folder, 'postern.log'), 'utf8');
    expect(log).toContain('"GET /oauth/logout" ');
    expect(log).not.toMatch(/canary-hint|state-of-the-client/);
  });
});
