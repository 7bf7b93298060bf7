// `npm run bench`: loads the service, the bare engine and a raw signing loop in turn, in slices of one run, and prints
// ratios that were paired within a round. See README.md in this folder.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { freePort, startRedis } from '../test/servers.ts';
import { load, type Request, type Slice } from './load.ts';
import { serve, type Served } from './processes.ts';

const CONNECTIONS = 32;
const SECRET = 'bench-secret-Ab3Cd5Ef7Gh9Ij1Kl3Mn5Op7Qr9St';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const BASIC = { ...FORM, authorization: `Basic ${btoa(`bench:${SECRET}`)}` };

const { values } = parseArgs({
  options: { rounds: { type: 'string' }, seconds: { type: 'string' }, json: { type: 'string' } },
});
const rounds = Number(values.rounds ?? 6);
const seconds = Number(values.seconds ?? 2);

type Subject = { readonly name: string; readonly pid: number; readonly request: Request };
type Round = {
  readonly signature: { perSecond: number; cpuMicroseconds: number };
  readonly slices: Map<string, Slice>;
};

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-bench-'));
  const redis = await startRedis();
  const served: Served[] = [];
  try {
    const subjects = [
      ...(await bareEngine(redis.url, served)),
      ...(await postern('redis', redis.url, folder, served)),
      ...(await postern('lmdb', `lmdb:${path.join(folder, 'data')}`, folder, served)),
    ];
    for (const { request, pid } of subjects) await load(request, pid, 1, CONNECTIONS);
    const results: Round[] = [];
    for (let round = 0; round < rounds; round += 1) results.push(await measure(subjects));
    report(subjects, results);
    if (values.json !== undefined)
      await writeFile(values.json, JSON.stringify(results.map(plain), undefined, 2));
  } finally {
    await Promise.all(served.map((process) => process.stop()));
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function bareEngine(redis: string, served: Served[]): Promise<Subject[]> {
  const port = await freePort();
  const process = await serve(['--no-warnings', 'bench/bare-engine.ts', redis, String(port)], 'ready');
  served.push(process);
  const base = `http://127.0.0.1:${port}`;
  const body = 'grant_type=client_credentials&scope=reports.read';
  return [
    {
      name: 'bare engine: token',
      pid: process.pid,
      request: { url: `${base}/token`, method: 'POST', headers: BASIC, body },
    },
  ];
}

async function postern(name: string, store: string, folder: string, served: Served[]): Promise<Subject[]> {
  const [port, management] = [await freePort(), await freePort()];
  const issuer = `http://127.0.0.1:${port}`;
  const wide = { client: '100000000/1m', address: '100000000/1m', failures: '20/1m' };
  const file = path.join(folder, `${name}.json`);
  await writeFile(
    file,
    JSON.stringify({
      issuer,
      listen: { host: '127.0.0.1', port },
      management: { host: '127.0.0.1', port: management },
      store,
      rate_limits: { token: wide, introspection: { client: '100000000/1m' } },
      resources: [
        { resource: 'urn:example:api', scopes: ['reports.read'], introspection_clients: ['bench'] },
      ],
      clients: [
        {
          client_id: 'bench',
          client_secret: 'env:BENCH_SECRET',
          grant_types: ['client_credentials'],
          scope: 'reports.read',
        },
      ],
    }),
  );
  const process = await serve(['dist/main.js', 'serve', '--config', file], 'Postern is up.', {
    BENCH_SECRET: SECRET,
  });
  served.push(process);
  const body = 'grant_type=client_credentials&scope=reports.read';
  const token: Request = { url: `${issuer}/oauth/token`, method: 'POST', headers: BASIC, body };
  const answer = await fetch(token.url, { method: 'POST', headers: BASIC, body });
  const { access_token: jwt } = (await answer.json()) as { access_token: string };
  const subject = (what: string, request: Request) => ({
    name: `postern ${name}: ${what}`,
    pid: process.pid,
    request,
  });
  return [
    subject('token', token),
    subject('introspection', {
      url: `${issuer}/oauth/introspect`,
      method: 'POST',
      headers: BASIC,
      body: `token=${jwt}`,
    }),
    subject('discovery', { url: `${issuer}/.well-known/openid-configuration` }),
    subject('jwks', { url: `${issuer}/oauth/jwks.json` }),
  ];
}

async function measure(subjects: readonly Subject[]): Promise<Round> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings',
    'bench/rsa-loop.ts',
    String(seconds),
  ]);
  const slices = new Map<string, Slice>();
  for (const { name, pid, request } of subjects)
    slices.set(name, await load(request, pid, seconds, CONNECTIONS));
  return { signature: JSON.parse(stdout) as Round['signature'], slices };
}

function report(subjects: readonly Subject[], results: readonly Round[]): void {
  const rows = subjects.map(({ name }) => {
    const of = (figure: (slice: Slice, round: Round) => number) =>
      spread(results.map((round) => figure(round.slices.get(name) as Slice, round)));
    const bare = 'bare engine: token';
    return {
      subject: name,
      'req/s': of((slice) => slice.requestsPerSecond),
      'cpu us': of((slice) => slice.cpuMicroseconds),
      'p50 ms': of((slice) => slice.p50Ms),
      'p99 ms': of((slice) => slice.p99Ms),
      'x S1': of((slice, round) => slice.requestsPerSecond / round.signature.perSecond),
      'x B': of(
        (slice, round) => slice.requestsPerSecond / (round.slices.get(bare) as Slice).requestsPerSecond,
      ),
      'cpu / signature': of((slice, round) => slice.cpuMicroseconds / round.signature.cpuMicroseconds),
    };
  });
  const signatures = spread(results.map(({ signature }) => signature.perSecond));
  process.stdout.write(
    `S1 = ${signatures} RSA-2048 signatures a second; median (least to most) of ${rounds} rounds\n`,
  );
  // oxlint-disable-next-line no-console
  console.table(rows);
}

/** Median, least and most. */
function spread(figures: readonly number[]): string {
  const sorted = figures.toSorted((a, b) => a - b);
  return `${format(sorted[Math.floor(sorted.length / 2)])} (${format(sorted[0])} to ${format(sorted.at(-1))})`;
}

function format(figure = 0): string {
  return figure >= 100 ? figure.toFixed(0) : figure.toFixed(2);
}

function plain({ signature, slices }: Round) {
  return { signature, slices: Object.fromEntries(slices) };
}

await main();
