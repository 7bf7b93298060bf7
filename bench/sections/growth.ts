// How cost grows with clients, people and live grants: CPU of a request, start, reload. One picture for each question.
import { readFile, writeFile } from 'node:fs/promises';
import { generated, startGenerator } from '../generated.ts';
import { personName } from '../names.ts';
import { Person } from '../person.ts';
import { plot } from '../plot.ts';
import { configurePostern, otherClients, otherSecret, type Postern, runPostern } from '../postern.ts';
import { residentMegabytes } from '../processes.ts';
import { measureRounds, over, type Round, sliceOf, type Spread, spread, type Subject } from '../rounds.ts';
import * as section from '../section.ts';
import { seedGrants } from '../seed.ts';
import { Connection } from '../wire.ts';

const REQUESTS = ['token', 'introspection', 'code flow'] as const;
const CLIENTS = [10, 1000, 10_000];
/** Tokens a second, for latency. */
const RATE = 100;

type Grown = Postern & { readonly size: number };
type Size = { readonly clients?: number; readonly people?: number; readonly grants?: number };

export async function growth(stage: section.Stage): Promise<section.Findings> {
  const { isQuick, isFull } = stage.options;
  const most = isFull ? 1_000_000 : 100_000;
  const clients = await curveOf(stage, 'clients', isQuick ? [10, 1000] : CLIENTS);
  const latency = await latencyOf(stage, clients.services);
  await stage.end();
  const people = await curveOf(stage, 'people', [10, isQuick ? 10_000 : 100_000]);
  await stage.end();
  const grants = await curveOf(stage, 'grants', isQuick ? [0, 10_000] : [...new Set([0, 100_000, most])]);
  await plot('growth-start', {
    title: 'Start to “up”',
    x: 'clients or people',
    y: 'ms',
    isLogarithmic: true,
    curves: [
      { name: 'clients', points: clients.services.map(({ size, readyMs }) => [size, readyMs]) },
      { name: 'people', points: people.services.map(({ size, readyMs }) => [size, readyMs]) },
    ],
  });
  return {
    tables: [clients.table, latency.table, people.table, grants.table],
    targets: [...clients.targets, ...latency.targets],
    pictures: ['growth-clients', 'growth-people', 'growth-grants', 'growth-start'],
    notes: [
      'Tokens are asked for by all clients in turn; code flows are done by people in turn, with the cheapest password hash that is ' +
        'accepted. All on LMDB. Grants are written by the service’s own store and adapter, without HTTP, before its start.',
      ...grants.notes,
    ],
    raw: { clients: clients.raw, latency: latency.raw, people: people.raw, grants: grants.raw },
  };
}

async function curveOf(stage: section.Stage, what: keyof Size, sizes: readonly number[]) {
  const services: Grown[] = [];
  const notes: string[] = [];
  for (const size of sizes) services.push(await grow(stage, what, size, notes));
  const subjects = (await Promise.all(services.map((service) => subjectsOf(stage, what, service)))).flat();
  const { isQuick, seconds } = stage.options;
  const rounds = await measureRounds(subjects, { rounds: isQuick ? 1 : 3, seconds });
  await plot(`growth-${what}`, {
    title: `CPU of a request by ${what}`,
    x: what,
    y: 'CPU µs',
    isLogarithmic: true,
    curves: REQUESTS.map((request) => ({
      name: request,
      points: services.map(({ size }) => [size, cpuOf(rounds, request, size).median]),
    })),
  });
  const memory = services.map(({ pid }) => residentMegabytes(pid).reduce((sum, one) => sum + one, 0));
  const table = {
    title: `With more ${what}`,
    columns: [what, ...REQUESTS.map((request) => `${request}, CPU µs`), 'start ms', 'MB afterwards'],
    rows: services.map(({ size, readyMs }, index) => [
      String(size),
      ...REQUESTS.map((request) => section.format(cpuOf(rounds, request, size))),
      readyMs.toFixed(0),
      (memory[index] ?? 0).toFixed(0),
    ]),
  };
  return {
    services,
    table,
    notes,
    targets: startTargets(what, services),
    raw: { rounds: section.plain(rounds), memory },
  };
}

function startTargets(what: keyof Size, services: readonly Grown[]): section.Target[] {
  const biggest = services.at(-1);
  if (what !== 'clients' || biggest === undefined) return [];
  return [section.atMost(`ms to start with ${biggest.size} clients`, spread([biggest.readyMs]), 3000)];
}

async function grow(stage: section.Stage, what: keyof Size, size: number, notes: string[]): Promise<Grown> {
  const name = `${what}-${size}`;
  const files = await configurePostern({
    name,
    folder: stage.folder,
    store: stage.lmdb(name),
    hasLightPasswords: true,
    moreClients: what === 'clients' ? size : 0,
    people: what === 'people' ? size : 1000,
  });
  if (what === 'grants' && size > 0) {
    const seconds = await seedGrants(files.configFile, size);
    notes.push(`${size} grants (four records each) were written in ${seconds.toFixed(0)} s.`);
  }
  // The first start makes keys, which takes by chance more or less time.
  await (await runPostern(files)).stop();
  const served = await runPostern(files);
  stage.later(() => served.stop());
  return { ...files, ...served, size };
}

const subjectName = (request: (typeof REQUESTS)[number], size: number) => `${request}, ${size}`;

function cpuOf(rounds: readonly Round[], request: (typeof REQUESTS)[number], size: number): Spread {
  return over(rounds, (round) => sliceOf(round, subjectName(request, size)).cpuMicroseconds);
}

async function subjectsOf(stage: section.Stage, what: keyof Size, service: Grown): Promise<Subject[]> {
  const { size, pid, issuer } = service;
  const connection = new Connection(issuer);
  const person = await new Person(issuer, personName(1), connection).flow();
  connection.close();
  const authorizations = Array.from(
    { length: what === 'clients' ? size : 0 },
    (_, index) => `Basic ${btoa(`service-${index}:${otherSecret(index)}`)}`,
  );
  const token = { ...section.tokenRequest(`${issuer}/oauth/token`), authorizations };
  const introspection = section.introspectionRequest(`${issuer}/oauth/introspect`, person.accessToken);
  const given = { mode: 'flow', parallel: 8, people: what === 'people' ? size : 1000 } as const;
  const tokens = section.loaded(subjectName('token', size), pid, token);
  return [
    // Until each client has been there once.
    { ...tokens, warm: () => tokens.slice(Math.max(1, Math.ceil(size / 2000))) },
    section.loaded(subjectName('introspection', size), pid, introspection),
    generated(stage, subjectName('code flow', size), service, given),
  ];
}

/** Machine tokens at an even pace with few clients and with many, and while many are read again. */
async function latencyOf(stage: section.Stage, services: readonly Grown[]) {
  const [few, many] = [services[0], services.at(-1)];
  if (few === undefined || many === undefined) throw new TypeError('there are no services');
  const seconds = Math.max(3, stage.options.seconds);
  const pacedAt = (service: Postern) =>
    startGenerator(stage, service, { mode: 'paced', parallel: 32, people: 1, rate: RATE });
  const [fewPaced, manyPaced] = [pacedAt(few), pacedAt(many)];
  const reloads: number[] = [];
  const names = [
    `${few.size} clients`,
    `${many.size} clients`,
    `${many.size} clients, during a reload`,
  ] as const;
  const subjects: Subject[] = [
    { name: names[0], slice: () => fewPaced.go(seconds) },
    { name: names[1], slice: () => manyPaced.go(seconds) },
    {
      name: names[2],
      async slice() {
        const [slice, reloadMs] = await Promise.all([manyPaced.go(seconds), reload(many)]);
        reloads.push(reloadMs);
        return slice;
      },
    },
  ];
  const rounds = await measureRounds(subjects, { rounds: stage.options.isQuick ? 2 : 3, seconds });
  const ratio = (figure: 'p50Ms' | 'p99Ms') =>
    over(
      rounds,
      (round) => (sliceOf(round, names[1])[figure] ?? 0) / (sliceOf(round, names[0])[figure] ?? 1),
    );
  const reloadTimes = spread(reloads);
  const table = section.tableOf(`Machine tokens, ${RATE} a second`, rounds);
  return {
    table: {
      ...table,
      rows: [...table.rows, [`ms until a changed file runs`, section.format(reloadTimes), '', '', '']],
    },
    targets: [
      section.atMost(
        `ms until a changed file with ${many.size} clients runs`,
        reloadTimes,
        2000,
        'of this, 400 ms are the wait until a file is whole, and 50 ms gather its events',
      ),
      section.atMost(`p50 of a token with ${many.size} clients / with ${few.size}`, ratio('p50Ms'), 1.2),
      section.atMost(`p99 of a token with ${many.size} clients / with ${few.size}`, ratio('p99Ms'), 1.5),
    ],
    raw: { rounds: section.plain(rounds), reloads },
  };
}

/** Writes the clients' file with one client more or less; ms until /readyz names another configuration. */
async function reload({ management, clientsFile, size }: Grown): Promise<number> {
  const runs = async () => {
    const answer = await fetch(`${management}/readyz`);
    return ((await answer.json()) as { configuration: { hash: string } }).configuration.hash;
  };
  const before = await runs();
  const now = (JSON.parse(await readFile(clientsFile, 'utf8')) as unknown[]).length;
  const startedAt = performance.now();
  await writeFile(clientsFile, JSON.stringify(otherClients(now === size ? size + 1 : size)));
  while ((await runs()) === before) {
    if (performance.now() - startedAt > 30_000) throw new Error('the changed file was not taken over');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - startedAt;
}
