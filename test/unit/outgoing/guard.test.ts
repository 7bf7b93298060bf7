// The guard of outbound requests, against real TLS servers on this machine, which stand for all addresses that must not be called.
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutgoing, OutgoingRefused } from '../../../src/outgoing/guard.ts';
import { isLoopbackAddress, isPrivateAddress, isPublicAddress } from '../../../src/outgoing/special-use.ts';
import { startTlsServer } from '../../world/tls-server.ts';

const before = getCACertificates('default');
const here = createOutgoing({ issuer: 'http://localhost', outgoing: { internalHosts: ['localhost'] } });
const OPTIONS = { maxBytes: 1000, deadlineMs: 2000 };

let answer: RequestListener;
const server = await startTlsServer((request, response) => answer(request, response));
const trusted = getCACertificates('default');
/** The same server without TLS. */
const plain = createServer((request, response) => answer(request, response)).listen(0);
await once(plain, 'listening');
const plainOrigin = `http://localhost:${(plain.address() as AddressInfo).port}`;
const at = (host: string) => `${server.origin.replace('localhost', host)}/client.json`;

let plainConnections = 0;
plain.on('connection', () => (plainConnections += 1));
const allConnections = () => server.connections() + plainConnections;
let earlier = 0;
/** The number of connections in this test. */
const connections = () => allConnections() - earlier;

beforeEach(() => {
  earlier = allConnections();
  answer = (_request, response) => response.end('{"a":1}');
});
afterAll(() => {
  server.stop();
  plain.closeAllConnections();
  plain.close();
});

async function reasonOf(asked: Promise<unknown>): Promise<string> {
  const error: unknown = await asked.then(
    () => new Error('it was answered'),
    (refused: unknown) => refused,
  );
  if (error instanceof OutgoingRefused) return error.reason;
  throw error;
}

it.each([
  ['0.0.0.0', 'special'],
  ['10.0.0.5', 'private'],
  ['100.64.0.1', 'private'],
  ['100.128.0.1', 'public'],
  ['127.0.0.1', 'loopback'],
  ['169.254.169.254', 'special'],
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
  ['::1', 'loopback'],
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
  ['fe80::1', 'special'],
  ['fe80::1%eth0', 'special'],
  ['fec0::1', 'special'],
  ['ff02::1', 'special'],
  ['no address', 'special'],
])('MC-01: an address %s is %s', (address, kind) => {
  const kinds = Object.entries({
    public: isPublicAddress(address),
    private: isPrivateAddress(address),
    loopback: isLoopbackAddress(address),
  });
  expect(kinds.filter(([, is]) => is).map(([name]) => name)).toEqual(kind === 'special' ? [] : [kind]);
});

// The two-second timeout of a request is in real time, so a busy machine gets another try.
describe('what is called', { retry: 2 }, () => {
  const OURS = '127.0.0.1 [::1] 2130706433 0x7f.1 127.1 0177.0.0.1 [::ffff:127.0.0.1] 0.0.0.0 [::]'.split(
    ' ',
  );
  it.each(OURS)('MC-01: is not this machine: %s sees no connection', async (host) => {
    expect(await reasonOf(here.request(at(host), OPTIONS))).toBe('address');
    expect(connections()).toBe(0);
  });

  it.each([
    ['a name that is not listed', [], 'http://localhost'],
    ['a listed name on this machine, where the issuer is elsewhere', ['localhost'], 'https://id.example'],
    ['a listed name, spelled as another', ['localhost.'], 'http://localhost'],
  ])('MC-03: is not %s', async (_, internalHosts, issuer) => {
    const outgoing = createOutgoing({ issuer, outgoing: { internalHosts } });
    expect(await reasonOf(outgoing.request(at('localhost'), OPTIONS))).toBe('address');
    expect(connections()).toBe(0);
  });

  it.each([
    ['ftp', 'ftp://localhost/client.json'],
    ['a user name', 'https://user@localhost/client.json'],
    ['a password, without TLS', 'http://:secret@localhost/client.json'],
    ['no URL', 'localhost'],
  ])('is https alone: %s', async (_, url) => {
    expect(await reasonOf(here.request(url, OPTIONS))).toBe('url');
    expect(connections()).toBe(0);
  });

  it('is an internal host of this machine without TLS, while the issuer is on it too', async () => {
    const { status, body } = await here.request(plainOrigin, OPTIONS);
    expect([status, body.toString(), connections()]).toEqual([200, '{"a":1}', 1]);
  });

  it.each([
    ['where the issuer is elsewhere', 'localhost', ['localhost'], 'https://id.example'],
    ['whose name is not listed', 'localhost', [], 'http://localhost'],
    ['by its address', '127.0.0.1', ['localhost'], 'http://localhost'],
    ['at a public address', '93.184.216.34', ['93.184.216.34'], 'http://localhost'],
    ['at a private address', '10.0.0.5', ['10.0.0.5'], 'http://localhost'],
    ['of the link', '169.254.169.254', ['169.254.169.254'], 'http://localhost'],
  ])('MC-03: is no host without TLS %s', async (_, host, internalHosts, issuer) => {
    const outgoing = createOutgoing({ issuer, outgoing: { internalHosts } });
    const url = plainOrigin.replace('localhost', host);
    expect(await reasonOf(outgoing.request(url, OPTIONS))).toBe('url');
    expect(connections()).toBe(0);
  });

  it('is, of this machine, a listed internal host: it is sent what the caller says, and told nothing else', async () => {
    let asked: unknown;
    answer = (request, response) => {
      void text(request).then((body) => {
        asked = { method: request.method, headers: request.headers, body };
        response.setHeader('Cache-Control', 'max-age=60').end('{"a":1}');
      });
    };
    const headers = { Authorization: 'Basic d2ViOnNlY3JldA==', 'Content-Type': 'text/plain' };
    const sent = { ...OPTIONS, method: 'PUT', headers, body: 'äb' } as const;
    const answered = await here.request(at('localhost'), sent);
    expect([answered.headers['cache-control'], answered.body.toString()]).toEqual(['max-age=60', '{"a":1}']);
    expect(asked).toEqual({
      method: 'PUT',
      headers: {
        authorization: 'Basic d2ViOnNlY3JldA==',
        'content-type': 'text/plain',
        'content-length': '3',
        'accept-encoding': 'identity',
        'user-agent': 'Postern',
        host: new URL(server.origin).host,
        connection: 'close',
      },
      body: 'äb',
    });
  });

  it('is rejected with an invalid certificate, whatever the environment says', async () => {
    setDefaultCACertificates(before);
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      expect(await reasonOf(here.request(at('localhost'), OPTIONS))).toBe('connection');
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      setDefaultCACertificates(trusted);
    }
  });

  it('is rejected with a certificate for another name', async () => {
    const outgoing = createOutgoing({
      issuer: 'http://localhost',
      outgoing: { internalHosts: ['127.0.0.1'] },
    });
    expect(await reasonOf(outgoing.request(at('127.0.0.1'), OPTIONS))).toBe('connection');
  });
});

describe('an answer', { retry: 2 }, () => {
  it.each([301, 302, 303, 307, 308])('MC-05: %i is handed back and not followed', async (status) => {
    answer = (_request, response) => response.writeHead(status, { Location: at('localhost') }).end();
    const headers = { Authorization: 'Bearer secret' };
    expect((await here.request(at('localhost'), { ...OPTIONS, headers })).status).toBe(status);
    expect(connections()).toBe(1);
  });

  it.each([201, 400, 401, 404, 500])('with the status %i has its body', async (status) => {
    answer = (_request, response) => response.writeHead(status).end('{"error":"invalid_client"}');
    const { status: seen, body } = await here.request(at('localhost'), OPTIONS);
    expect([seen, body.toString()]).toEqual([status, '{"error":"invalid_client"}']);
  });

  it('MC-12: may take as long as the caller says', async () => {
    answer = () => undefined;
    const asked = here.request(at('localhost'), { ...OPTIONS, deadlineMs: 100 });
    await expect(asked).rejects.toThrow('localhost did not answer within 0.1 s');
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
    ['is an error and longer', 'size', (_, response) => response.writeHead(400).write('x'.repeat(1001))],
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
    const closed = new Promise((resolve) => {
      answer = (request, response) => {
        request.socket.once('close', resolve);
        listener(request, response);
      };
    });
    expect(await reasonOf(here.request(at('localhost'), OPTIONS))).toBe(reason);
    await closed;
  });

  it.each([404, 503])('with status %i is reported by status, without reading the page', async (status) => {
    answer = (_request, response) => {
      response.writeHead(status, { 'Content-Encoding': 'br' }).write('x'.repeat(5000));
    };
    const readsBody = (code: number) => code === 200;
    const { status: seen, body } = await here.request(at('localhost'), { ...OPTIONS, readsBody });
    expect([seen, body.length]).toEqual([status, 0]);
  });

  it('MC-10: may be as long as is allowed', async () => {
    answer = (_request, response) => response.end('x'.repeat(1000));
    expect((await here.request(at('localhost'), OPTIONS)).body).toHaveLength(1000);
  });
});
