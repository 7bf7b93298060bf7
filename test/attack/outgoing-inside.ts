// What runs inside the namespace of outgoing.test.ts: a host that publishes documents and misbehaves, a name server, and the service with
// its own guard. What is counted is what the kernel counts.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { createOutgoing, OutgoingRefused } from '../../src/outgoing/guard.ts';
import { serveCalls } from '../world/namespace.ts';
import { type Answers, NameServer } from '../world/name-server.ts';

/** Takes connections and says nothing, not even in TLS. */
const SILENT = '93.184.216.35';

const names = new NameServer();
const connections: string[] = [];
const requests: string[] = [];
let openSockets = 0;

type Behaviour = (response: ServerResponse, request: IncomingMessage) => void;

function documentOf({ headers, url }: IncomingMessage): object {
  return {
    client_id: `https://${headers.host ?? ''}${url ?? ''}`,
    client_name: 'App of nobody',
    redirect_uris: [`https://${headers.host ?? ''}/cb`],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  };
}

function flood(response: ServerResponse, bytes: number): void {
  let left = bytes;
  while (left > 0 && !response.destroyed) {
    left -= 10_000;
    if (!response.write(' '.repeat(10_000))) {
      response.once('drain', () => flood(response, left));
      return;
    }
  }
  if (!response.destroyed) response.end();
}

function drip(response: ServerResponse, write: () => void): void {
  const timer = setInterval(write, 200);
  response.once('close', () => clearInterval(timer));
}

const padded = (request: IncomingMessage, bytes: number) => JSON.stringify(documentOf(request)).padEnd(bytes);

/** By the first part of the path; anything else is the document of its URL. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  redirect: (response, { url }) => {
    const [, , status, ...target] = (url ?? '').split('/');
    response.writeHead(Number(status), { location: decodeURIComponent(target.join('/')) }).end();
  },
  status: (response, { url }) => response.writeHead(Number(url?.split('/')[2])).end(),
  length: (response) => flood(response.setHeader('content-length', 5_000_000), 5_000_000),
  chunked: (response) => flood(response, 5_000_000),
  endless: (response) => flood(response, Number.MAX_SAFE_INTEGER),
  'most-bytes': (response, request) => response.end(padded(request, 5120)),
  'byte-more': (response, request) => response.end(padded(request, 5121)),
  gzip: (response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(' '.repeat(10_000_000))),
  'gzip-small': (response, request) =>
    response.setHeader('content-encoding', 'gzip').end(gzipSync(padded(request, 1000))),
  headers: (response) => {
    const { socket } = response;
    socket?.write('HTTP/1.1 200 OK\r\n');
    drip(response, () => socket?.write('x'));
  },
  body: (response) => drip(response, () => response.write(' ')),
  hints: (response) => drip(response, () => response.writeEarlyHints({ link: '</x>; rel=preload' })),
  upgrade: (response) =>
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  nothing: () => undefined,
};

const folder = process.env['POSTERN_TEST_TLS'] ?? '';
const hosts = createTlsServer(
  { key: readFileSync(path.join(folder, 'key.pem')), cert: readFileSync(path.join(folder, 'cert.pem')) },
  (request, response) => {
    requests.push(`${request.headers.host ?? ''}${request.url ?? ''}`);
    response.setHeader('content-type', 'application/json');
    const behaviour = BEHAVIOURS[request.url?.split('/')[1] ?? ''];
    if (behaviour === undefined) response.end(JSON.stringify(documentOf(request)));
    else behaviour(response, request);
  },
);

/** On every address of this namespace. Each connection is written down with the address and the port that it came to. */
async function listen(port: number): Promise<void> {
  const server = createServer((socket) => {
    connections.push(`${(socket.localAddress ?? '').replace('::ffff:', '')} ${port}`);
    openSockets += 1;
    socket.once('close', () => (openSockets -= 1)).on('error', () => undefined);
    if (socket.localAddress?.endsWith(SILENT) !== true && port === 443) hosts.emit('connection', socket);
  });
  await new Promise<void>((resolve) => server.listen(port, resolve));
}

/** SYNs that this namespace has sent, and connections that were accepted in it. */
function countTcp(): { readonly opened: number; readonly accepted: number } {
  const [titles = [], values = []] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Tcp:'))
    .map((line) => line.split(' '));
  const valueOf = (title: string) => Number(values[titles.indexOf(title)]);
  return { opened: valueOf('ActiveOpens'), accepted: valueOf('PassiveOpens') };
}

export type Seen = {
  /** Connections to the hosts of the test: address and port. */
  readonly connections: readonly string[];
  readonly requests: readonly string[];
  /** SYNs that nobody answered, to whatever address and port. */
  readonly strays: number;
  /** Names that were asked for. */
  readonly names: readonly string[];
};

/** What `act` caused. */
async function watch<Result>(act: () => Promise<Result>): Promise<Result & { readonly seen: Seen }> {
  const [before, from] = [countTcp(), [connections.length, requests.length, names.asked.length] as const];
  const result = await act();
  const after = countTcp();
  const seen = {
    connections: connections.slice(from[0]),
    requests: requests.slice(from[1]),
    strays: after.opened - before.opened - (after.accepted - before.accepted),
    names: names.asked.slice(from[2]),
  };
  return { ...result, seen };
}

async function waitUntil(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const api = {
  async prepare() {
    await names.listen();
    await Promise.all([443, 80, 8443].map(listen));
  },

  script: (name: string, answers: Answers) => names.script(name, answers),

  /** The guard by itself. */
  async get(url: string, internalHosts: readonly string[] = [], issuerIsLoopback = false) {
    const outgoing = createOutgoing({ internalHosts, issuerIsLoopback });
    return watch(async () => {
      try {
        const { status } = await outgoing.get(url, { maxBytes: 5120, accept: 'application/json' });
        return { outcome: String(status) };
      } catch (error) {
        if (error instanceof OutgoingRefused) return { outcome: error.reason };
        throw error;
      }
    });
  },

  /** When the last connection to a host of the test is closed. */
  closed: async () => waitUntil(() => openSockets === 0),
};

export type Inside = typeof api;

serveCalls(api);
