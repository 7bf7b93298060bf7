// The one way out, against real TLS servers on this machine, which stand for everything that must not be called.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutgoing, OutgoingRefused } from '../../../src/outgoing/guard.ts';
import { isLocalAddress, isPrivateAddress, isPublicAddress } from '../../../src/outgoing/special-use.ts';
import { requireServer } from '../../world/servers.ts';

const before = getCACertificates('default');
const here = createOutgoing({ internalHosts: ['localhost'], issuerIsLoopback: true });
const OPTIONS = { maxBytes: 1000, accept: 'application/json' };

let server: Server;
let port: number;
let certificate: string;
let connections = 0;
let answer: RequestListener;

beforeAll(async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-outgoing-'));
  const file = (name: string) => path.join(folder, name);
  const made = [
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-subj',
    '/CN=localhost',
    '-days',
    '2',
  ];
  const names = ['-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', file('key'), '-out', file('cert')];
  execFileSync(requireServer('openssl'), ['req', ...made, ...names, ...files], { stdio: 'ignore' });
  const key = readFileSync(file('key'), 'utf8');
  certificate = readFileSync(file('cert'), 'utf8');
  rmSync(folder, { recursive: true });
  setDefaultCACertificates([...before, certificate]);
  server = createServer({ key, cert: certificate }, (request, response) => answer(request, response));
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  ({ port } = server.address() as AddressInfo);
});
beforeEach(() => {
  connections = 0;
  answer = (_request, response) => response.end('{"a":1}');
});
afterAll(() => {
  setDefaultCACertificates(before);
  server.closeAllConnections();
  server.close();
});

const at = (host: string, scheme = 'https') => `${scheme}://${host}:${port}/client.json`;

async function reasonOf(asked: Promise<unknown>): Promise<string> {
  const error: unknown = await asked.then(
    () => new Error('it was answered'),
    (refused: unknown) => refused,
  );
  if (error instanceof OutgoingRefused) return error.reason;
  throw error;
}

describe('an address', () => {
  it.each([
    ['0.0.0.0', 'special'],
    ['10.0.0.5', 'private'],
    ['100.64.0.1', 'private'],
    ['100.128.0.1', 'public'],
    ['127.0.0.1', 'local'],
    ['169.254.169.254', 'local'],
    ['172.15.255.255', 'public'],
    ['172.16.0.1', 'private'],
    ['172.32.0.1', 'public'],
    ['192.0.0.8', 'special'],
    ['192.0.2.1', 'special'],
    ['192.31.196.1', 'special'],
    ['192.88.99.1', 'special'],
    ['192.168.0.1', 'private'],
    ['198.19.255.255', 'special'],
    ['198.51.100.1', 'special'],
    ['203.0.113.1', 'special'],
    ['224.0.0.1', 'special'],
    ['255.255.255.255', 'special'],
    ['93.184.216.34', 'public'],
    ['::', 'special'],
    ['::1', 'local'],
    ['::10.0.0.1', 'special'],
    ['::ffff:10.0.0.1', 'special'],
    ['::ffff:93.184.216.34', 'special'],
    ['::FFFF:7f00:1', 'special'],
    ['64:ff9b::5db8:d822', 'public'],
    ['64:ff9b::a00:1', 'special'],
    ['64:ff9b::a9fe:a9fe', 'special'],
    ['64:ff9b::7f00:1', 'special'],
    ['64:ff9b::1:0:0', 'special'],
    ['64:ff9b:1::1', 'special'],
    ['100::1', 'special'],
    ['2001::1', 'special'],
    ['2001:db8::1', 'special'],
    ['2002:a00:1::', 'special'],
    ['2606:2800:220:1::1', 'public'],
    ['3fff::1', 'special'],
    ['5f00::1', 'special'],
    ['fc00::1', 'private'],
    ['fd00::1', 'private'],
    ['fe80::1', 'local'],
    ['fe80::1%eth0', 'special'],
    ['fec0::1', 'special'],
    ['ff02::1', 'special'],
    ['no address', 'special'],
  ])('MC-01: %s is %s', (address, kind) => {
    const kinds = Object.entries({
      public: isPublicAddress(address),
      private: isPrivateAddress(address),
      local: isLocalAddress(address),
    });
    expect(kinds.filter(([, is]) => is).map(([name]) => name)).toEqual(kind === 'special' ? [] : [kind]);
  });
});

// The two seconds of a request are real ones. A machine that is too busy for them has another try.
describe('what is called', { retry: 2 }, () => {
  it.each([
    '127.0.0.1',
    '[::1]',
    '2130706433',
    '0x7f.1',
    '127.1',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '[::]',
  ])('MC-01: is not this machine: %s sees no connection', async (host) => {
    expect(await reasonOf(here.get(at(host), OPTIONS))).toBe('address');
    expect(connections).toBe(0);
  });

  it.each([
    ['a name that is not listed', [], true],
    ['a listed name on this machine, where the issuer is elsewhere', ['localhost'], false],
    ['a listed name, spelled as another', ['localhost.'], true],
  ])('MC-03: is not %s', async (_, internalHosts, issuerIsLoopback) => {
    const outgoing = createOutgoing({ internalHosts, issuerIsLoopback });
    expect(await reasonOf(outgoing.get(at('localhost'), OPTIONS))).toBe('address');
    expect(connections).toBe(0);
  });

  it.each([
    ['http', at('localhost', 'http')],
    ['ftp', 'ftp://localhost/client.json'],
    ['a user name', 'https://user@localhost/client.json'],
    ['no URL', 'localhost'],
  ])('is https alone: %s', async (_, url) => {
    expect(await reasonOf(here.get(url, OPTIONS))).toBe('url');
    expect(connections).toBe(0);
  });

  it('is an internal host that is listed, while the issuer is on this machine', async () => {
    let asked: unknown;
    answer = ({ headers }, response) => {
      asked = headers;
      response.setHeader('Cache-Control', 'max-age=60').end('{"a":1}');
    };
    const { status, headers, body } = await here.get(at('localhost'), OPTIONS);
    expect([status, headers['cache-control'], body.toString()]).toEqual([200, 'max-age=60', '{"a":1}']);
    expect(asked).toMatchObject({ accept: 'application/json', 'accept-encoding': 'identity' });
  });

  it('is nobody whose certificate is not good, whatever the environment says', async () => {
    setDefaultCACertificates(before);
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      expect(await reasonOf(here.get(at('localhost'), OPTIONS))).toBe('connection');
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      setDefaultCACertificates([...before, certificate]);
    }
  });
});

describe('an answer', { retry: 2 }, () => {
  it.each([301, 302, 303, 307, 308])('MC-05: %i is handed back and not followed', async (status) => {
    answer = (_request, response) => response.writeHead(status, { Location: at('localhost') }).end();
    expect((await here.get(at('localhost'), OPTIONS)).status).toBe(status);
    expect(connections).toBe(1);
  });

  const flood = (response: ServerResponse) => {
    while (!response.destroyed && response.write('x'.repeat(10_000))) continue;
    if (!response.destroyed) response.once('drain', () => flood(response));
  };
  it.each<[string, string, RequestListener]>([
    [
      'says that it is longer',
      'size',
      (_, response) => response.setHeader('Content-Length', 1001).flushHeaders(),
    ],
    ['is longer by a byte', 'size', (_, response) => response.write('x'.repeat(1001))],
    ['has no end', 'size', (_, response) => flood(response)],
    [
      'is compressed',
      'encoding',
      (_, response) => response.setHeader('Content-Encoding', 'gzip').end(gzipSync('x'.repeat(1000))),
    ],
    [
      'breaks off',
      'connection',
      (_, response) => {
        response.setHeader('Content-Length', 100).write('x', () => response.destroy());
      },
    ],
    ['never comes', 'timeout', () => undefined],
    [
      'comes byte by byte',
      'timeout',
      (_, response) => {
        const drip = setInterval(() => response.write('x'), 50);
        response.once('close', () => clearInterval(drip));
      },
    ],
  ])('MC-10, MC-12: that %s is refused: %s, and the connection closed', async (_, reason, listener) => {
    const closed = new Promise((resolve) =>
      server.once('secureConnection', (socket) => socket.once('close', resolve)),
    );
    answer = listener;
    expect(await reasonOf(here.get(at('localhost'), OPTIONS))).toBe(reason);
    await closed;
  });

  it.each([404, 503])(
    'with the status %i is that status, however long and compressed its page is',
    async (status) => {
      answer = (_request, response) => {
        response.writeHead(status, { 'Content-Encoding': 'br' }).write('x'.repeat(5000));
      };
      const { status: seen, body } = await here.get(at('localhost'), OPTIONS);
      expect([seen, body.length]).toEqual([status, 0]);
    },
  );

  it('MC-10: may be as long as is allowed', async () => {
    answer = (_request, response) => response.end('x'.repeat(1000));
    expect((await here.get(at('localhost'), OPTIONS)).body).toHaveLength(1000);
  });
});
