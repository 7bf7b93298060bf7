// Runs inside the namespace of outgoing.test.ts: a host that publishes documents and misbehaves, a name server, and the service with
// its own guard. The counts are those of the kernel.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as startRequest } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { createOutgoing, OutgoingRefused } from '../../src/outgoing/guard.ts';
import { signIn } from '../world/app.ts';
import { AUTHORIZATION_REQUEST, VERIFIER } from '../world/authorization-request.ts';
import { finishPages, newBrowser, signOut } from '../world/person.ts';
import { post } from '../world/requests.ts';
import { createTurns } from '../world/turns.ts';
import { startProcess } from '../world/process.ts';
import { inProcesses } from '../world/processes.ts';
import { startRedis } from '../world/servers.ts';
import {
  type OpenWorld,
  seedStore,
  startWorld,
  type World,
  worldClients,
  writeWorldConfig,
} from '../world/world.ts';
import { serveCalls } from '../world/namespace.ts';
import { type Answers, NameServer } from '../world/name-server.ts';

/** Accepts connections and sends nothing, not even TLS. */
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

const BOMB = gzipSync(' '.repeat(10_000_000));

/** Behaviours by the first part of the path; any other path returns the document of its URL. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  redirect: (response, { url }) => {
    const [, , status, ...target] = (url ?? '').split('/');
    response.writeHead(Number(status), { location: decodeURIComponent(target.join('/')) }).end();
  },
  status: (response, { url }) => flood(response.writeHead(Number(url?.split('/')[2])), 100_000),
  length: (response) => flood(response.setHeader('content-length', 5_000_000), 5_000_000),
  chunked: (response) => flood(response, 5_000_000),
  endless: (response) => flood(response, Number.MAX_SAFE_INTEGER),
  'most-bytes': (response, request) => response.end(padded(request, 5120)),
  'byte-more': (response, request) => response.end(padded(request, 5121)),
  gzip: (response) => response.setHeader('content-encoding', 'gzip').end(BOMB),
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
  links: (response, request) => {
    // Links to this host and to a forbidden address.
    const link = (name: string, host = 'docs.example') => `https://${host}/link/${name}`;
    const here = ['logo_uri', 'client_uri', 'jwks_uri', 'sector_identifier_uri', 'backchannel_logout_uri'];
    const inner = ['policy_uri', 'tos_uri', 'initiate_login_uri', 'frontchannel_logout_uri'];
    const links = Object.fromEntries([
      ...here.map((name) => [name, link(name)]),
      ...inner.map((name) => [name, link(name, '10.0.0.5')]),
    ]);
    const lists = { request_uris: [link('request')], software_statement: link('statement') };
    const methods = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] };
    response.end(JSON.stringify({ ...documentOf(request), ...links, ...lists, ...methods }));
  },
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

/** Listens on every address of this namespace, and records the local address and port of each connection. */
async function listenEverywhere(port: number): Promise<void> {
  const server = createServer((socket) => {
    connections.push(`${(socket.localAddress ?? '').replace('::ffff:', '')} ${port}`);
    openSockets += 1;
    socket.once('close', () => (openSockets -= 1)).on('error', () => undefined);
    if (socket.localAddress?.endsWith(SILENT) === true || port !== 443) socket.resume();
    else hosts.emit('connection', socket);
  });
  await new Promise<void>((resolve) => server.listen(port, resolve));
}

/** Counts SYNs that this namespace has sent, and connections that it has accepted. */
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
  /** SYNs without an answer, to any address and port. */
  readonly strays: number;
  /** Names that were looked up. */
  readonly names: readonly string[];
};

/** Runs `act`, and returns the traffic that it caused. */
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

let service: OpenWorld | undefined;
const turns = createTurns();

/** The clock of this process: only `later` moves it. Timers and deadlines stay real. */
const MachineDate = Date;
let nowMs = MachineDate.now();
globalThis.Date = class extends MachineDate {
  constructor(...given: readonly (string | number)[]) {
    if (given.length === 0) super(nowMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return nowMs;
  }
} as DateConstructor;

function world(): OpenWorld {
  if (service === undefined) throw new Error('the service was not started');
  return service;
}

function authorizeUrlOf(clientId: string, { issuer }: Pick<World, 'issuer'> = world()): string {
  const redirectUri = `${URL.parse(clientId)?.origin ?? 'https://docs.example'}/cb`;
  const query = { ...AUTHORIZATION_REQUEST, client_id: clientId, redirect_uri: redirectUri, scope: 'openid' };
  return `${issuer}/oauth/authorize?${new URLSearchParams(query).toString()}`;
}

type Visit = {
  readonly status: number;
  readonly location: string;
  readonly retryAfter: string;
  readonly text: string;
};

/** Sends an authorization request from `address`, without a session, on a new connection. */
async function visitFrom(clientId: string, address = '127.0.0.1'): Promise<Visit> {
  return new Promise((resolve, reject) => {
    const target = authorizeUrlOf(clientId).replace(world().issuer, world().base);
    const headers = { accept: 'text/html' };
    const sent = startRequest(target, { agent: false, localAddress: address, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        const { location = '', 'retry-after': retryAfter = '' } = response.headers;
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, location, retryAfter, text });
      });
    });
    sent.on('error', reject).end();
  });
}

/** Signs in to a client with a metadata document, from the first request to a refreshed token. */
async function useClient(clientId: string): Promise<{ readonly refreshed: number }> {
  const browser = newBrowser(world());
  const url = new URL(authorizeUrlOf(clientId));
  url.searchParams.set('scope', 'openid offline_access');
  url.searchParams.set('prompt', 'consent');
  const page = await finishPages(browser, await browser.open(url.href), 'alice');
  const tokens = await post(world(), '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    code: new URL(page.url).searchParams.get('code') ?? '',
    redirect_uri: url.searchParams.get('redirect_uri') ?? '',
    code_verifier: VERIFIER,
  });
  const refreshToken = String(tokens.body['refresh_token']);
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken };
  return { refreshed: (await post(world(), '/oauth/token', form)).status };
}

function heapBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

type Flood = {
  readonly clientIds: readonly string[];
  readonly addresses: readonly string[];
  readonly atOnce: number;
};

const CLIENTS = ['web', 'web2', 'post', 'spa', 'native'] as const;
const LOCAL_PORTS = '/proc/sys/net/ipv4/ip_local_port_range';

const api = {
  async prepare() {
    await names.listen();
    await Promise.all([443, 80, 8443].map(listenEverywhere));
  },

  script: (name: string, answers: Answers) => names.script(name, answers),

  /** Calls the guard directly. */
  async get(url: string, internalHosts: readonly string[] = [], issuer = 'https://id.example') {
    const outgoing = createOutgoing({ issuer, outgoing: { internalHosts } });
    return watch(async () => {
      try {
        const { status } = await outgoing.request(url, { maxBytes: 5120, deadlineMs: 2000 });
        return { outcome: String(status) };
      } catch (error) {
        if (error instanceof OutgoingRefused) return { outcome: error.reason };
        throw error;
      }
    });
  },

  /** The same while this machine has no free port for a connection. */
  async getWithoutPorts(url: string) {
    const ports = readFileSync(LOCAL_PORTS, 'utf8');
    // The only port of the range is in use: `hosts` listens there.
    writeFileSync(LOCAL_PORTS, '8443 8443');
    try {
      return await api.get(url);
    } finally {
      writeFileSync(LOCAL_PORTS, ports);
    }
  },

  /** Runs the built service: a request names a document at each host, and an app at each host must get a logout token. */
  async serve(engine: 'lmdb' | 'redis', workers: number, named: readonly string[]) {
    const redis = engine === 'redis' ? await startRedis() : undefined;
    const home = mkdtempSync(path.join(tmpdir(), 'postern-no-way-'));
    const uris = CLIENTS.map((id, at) => [id, { backchannel_logout_uri: `https://${named[at]}/logout` }]);
    const config = {
      ...inProcesses(workers),
      client_documents: { hosts: named, scope: 'openid' },
      clients: worldClients(Object.fromEntries(uris)),
    };
    const options = { config, ...(redis && { store: redis.url }) };
    const written = await writeWorldConfig(home, options);
    await seedStore(written.configFile);
    const running = await startProcess(written.configFile);
    const pids = async () => {
      const answer = await fetch(`${written.management}/readyz`);
      const body = (await answer.json()) as {
        readonly configuration: { readonly workers?: { pid: number }[] };
      };
      return body.configuration.workers?.map(({ pid }) => pid) ?? [running.pid];
    };
    try {
      const before = await pids();
      const statuses: number[] = [];
      for (const host of named)
        statuses.push(
          (await fetch(authorizeUrlOf(`https://${host}/c`, written), { redirect: 'manual' })).status,
        );
      const browser = newBrowser(written);
      for (const client of CLIENTS) await signIn(written, { browser, client, scope: 'openid' });
      await signOut(written, browser);
      const said = () =>
        [...running.stderr().matchAll(/"tries":(\d+),"reason":"(\S+) did not answer/g)].map(
          ([, tries, host]) => `${host} ${tries}`,
        );
      await waitUntil(() => said().length >= named.length);
      const after = await pids();
      const ended = running.stderr().match(/a worker ended/g)?.length ?? 0;
      return { statuses, tries: said().toSorted(), ended, pids: { before, after } };
    } finally {
      await running.end();
      await redis?.stop();
      rmSync(home, { recursive: true, force: true });
    }
  },

  /** Starts a service in this namespace; `later` moves its clock. */
  async start(config: Readonly<Record<string, unknown>>, pinned: readonly object[] = []) {
    await service?.stop();
    service = await startWorld({
      rotationTimer: turns.timer,
      issuer: 'https://id.example',
      config: { ...config, clients: [...worldClients(), ...pinned] },
    });
  },
  async later(minutes: number) {
    nowMs += minutes * 60_000;
    await turns.turn();
  },

  visit: async (clientId: string, address?: string) => watch(() => visitFrom(clientId, address)),
  /** Sends a form to an endpoint other than the authorization endpoint. */
  post: async (endpoint: string, form: Readonly<Record<string, string>>) =>
    watch(async () => ({ status: (await post(world(), endpoint, form)).status })),
  useClient: async (clientId: string) => watch(() => useClient(clientId)),

  /** Requests that name documents, `atOnce` in parallel; and a sign-in while the documents are fetched. */
  async flood({ clientIds, addresses, atOnce }: Flood) {
    return watch(async () => {
      const answers: Visit[] = [];
      const left = clientIds.entries();
      const strangers = Array.from({ length: atOnce }, async () => {
        for (const [index, clientId] of left)
          answers.push(await visitFrom(clientId, addresses[index % addresses.length]));
      });
      await waitUntil(() => openSockets > 0 || answers.length > 0);
      const signedIn = (await signIn(world())).tokens.access_token !== '';
      await Promise.all(strangers);
      const statuses = answers.map(({ status }) => status);
      const lacking = answers.filter(({ status, retryAfter }) => status >= 429 && retryAfter === '').length;
      return { statuses, lacking, signedIn };
    });
  },

  /** The growth of memory in use after `rounds` of rejected documents, a minute apart. */
  async growth(clientId: string, rounds: number) {
    const round = async (): Promise<void> => {
      await api.later(2);
      const { status } = await visitFrom(clientId);
      if (status !== 400) throw new Error(`answered with ${status}`);
    };
    for (let done = 0; done < 10; done += 1) await round();
    await waitUntil(() => openSockets === 0);
    const before = heapBytes();
    for (let done = 0; done < rounds; done += 1) await round();
    await waitUntil(() => openSockets === 0);
    return heapBytes() - before;
  },

  /** Resolves when the last connection to a host of the test is closed. */
  closed: async () => waitUntil(() => openSockets === 0),

  stop: async () => service?.stop(),
};

export type Inside = typeof api;

serveCalls(api);
