// How cost grows with clients, people and live grants: CPU of a request against the smallest size, start, reload. One picture for
// each question.
import { readFile, writeFile } from 'node:fs/promises';
import { generated, startGenerator } from '../generated.ts';
import { personName } from '../names.ts';
import { Person } from '../person.ts';
import type { Plot } from '../plot.ts';
import { configurePostern, otherClients, otherSecret, type Postern, runPostern } from '../postern.ts';
import { residentMegabytes } from '../processes.ts';
import {
  cpuRatio,
  measureRounds,
  over,
  type Round,
  sliceOf,
  type Spread,
  spread,
  type Subject,
} from '../rounds.ts';
import * as section from '../section.ts';
import { seedGrants, seedPeople } from '../seed.ts';
import { Connection } from '../wire.ts';

/** Tokens a second, for latency. */
const RATE = 100;
const PEOPLE = 1000;
const GOAL = 1.1;

type StoreName = 'lmdb' | 'redis';
type Grown = Postern & { readonly size: number };
/** What grows, in which store, and the requests that touch it. */
type Curve = {
  readonly what: 'clients' | 'people' | 'grants';
  readonly store: StoreName;
  readonly sizes: readonly number[];
  readonly requests: readonly RequestName[];
};
type RequestName = 'token' | 'introspection' | 'refresh' | 'flow in a session';

export async function growth(stage: section.Stage): Promise<section.Findings> {
  const { isQuick, isFull } = stage.options;
  const ofPeople = ['introspection', 'refresh', 'flow in a session'] as const;
  const clients = await curveOf(stage, {
    what: 'clients',
    store: 'lmdb',
    sizes: isQuick ? [10, 1000] : [10, 1000, 10_000],
    requests: ['token', 'introspection'],
  });
  const latency = await latencyOf(stage, clients.services);
  await stage.end();
  const curves = [clients];
  const stores: readonly StoreName[] = isQuick ? ['lmdb'] : ['lmdb', 'redis'];
  for (const store of stores) {
    const sizes = [10, isQuick ? 10_000 : 100_000];
    curves.push(await curveOf(stage, { what: 'people', store, sizes, requests: ofPeople }));
    await stage.end();
  }
  const most = isFull ? 1_000_000 : 100_000;
  for (const store of stores) {
    const sizes = [0, isQuick ? 10_000 : most];
    curves.push(await curveOf(stage, { what: 'grants', store, sizes, requests: ofPeople }));
    await stage.end();
  }
  const startOf = (what: string) =>
    curves
      .filter((one) => one.what === what && one.store === 'lmdb')
      .map(({ services }) => ({
        name: what,
        points: services.map(({ size, readyMs }) => [size, readyMs] as const),
      }));
  return {
    tables: [...curves.map(({ table }) => table), latency.table],
    targets: [...curves.flatMap(({ targets }) => targets), ...latency.targets],
    pictures: {
      ...Object.fromEntries(curves.map(({ name, picture }) => [name, picture])),
      'growth-start': {
        title: 'Start to “up”',
        x: 'clients or people',
        y: 'ms',
        isLogarithmic: true,
        curves: [...startOf('clients'), ...startOf('people')],
      },
    },
    notes: [
      'With more clients, all of them ask in turn (for their token; about a token that is not theirs). With more people or grants, ' +
        'people from all over the list do; more people are in the store. Ratios are made within a round, to the smallest. Grants are written by the service’s own adapter and records, ' +
        'without HTTP, before its start.',
      ...curves.flatMap(({ notes }) => notes),
    ],
    raw: {
      ...Object.fromEntries(curves.map(({ name, raw }) => [name, raw])),
      latency: latency.raw,
    },
  };
}

async function curveOf(stage: section.Stage, curve: Curve) {
  const { what, store, sizes, requests } = curve;
  const services: Grown[] = [];
  const notes: string[] = [];
  for (const size of sizes) services.push(await grow(stage, curve, size, notes));
  const ofServices = await Promise.all(services.map((service) => subjectsOf(stage, curve, service)));
  // What is compared comes one after the other.
  const subjects = requests.flatMap((_, index) => ofServices.flatMap((own) => own[index] ?? []));
  const { rounds: most, seconds } = stage.options;
  const rounds = await measureRounds(subjects, { rounds: Math.min(3, most), seconds });
  const memory = services.map(({ pid }) => residentMegabytes(pid).reduce((sum, one) => sum + one, 0));
  const [smallest = 0] = sizes;
  const ratio = (request: RequestName, size: number) =>
    cpuRatio(rounds, subjectName(request, size), subjectName(request, smallest));
  const picture: Plot = {
    title: `CPU of a request by ${what}, ${store}`,
    x: what,
    y: 'CPU µs',
    isLogarithmic: true,
    curves: requests.map((request) => ({
      name: request,
      points: sizes.map((size) => [size, cpuOf(rounds, request, size).median] as const),
    })),
  };
  const table = {
    title: `With more ${what}, ${store}`,
    columns: [
      what,
      ...requests.flatMap((request) => [`${request}, CPU µs`, `${request}, × ${smallest}`]),
      'start ms',
      'MB afterwards',
    ],
    rows: services.map(({ size, readyMs }, index) => [
      String(size),
      ...requests.flatMap((request) => [
        section.format(cpuOf(rounds, request, size)),
        section.format(ratio(request, size)),
      ]),
      readyMs.toFixed(0),
      (memory[index] ?? 0).toFixed(0),
    ]),
  };
  const biggest = sizes.at(-1) ?? 0;
  return {
    ...curve,
    name: `growth-${what}-${store}`,
    services,
    picture,
    table,
    notes,
    targets: [
      ...requests.map((request) =>
        section.atMost(
          `CPU with ${biggest} ${what} / with ${smallest}: ${request}, ${store}`,
          ratio(request, biggest),
          GOAL,
        ),
      ),
      ...startTargets(what, services),
    ],
    raw: { rounds: section.plain(rounds), memory, startMs: services.map(({ readyMs }) => readyMs) },
  };
}

function startTargets(what: string, services: readonly Grown[]): section.Target[] {
  const biggest = services.at(-1);
  if (what !== 'clients' || biggest === undefined) return [];
  return [section.atMost(`ms to start with ${biggest.size} clients`, spread([biggest.readyMs]), 3000)];
}

async function grow(
  stage: section.Stage,
  { what, store }: Curve,
  size: number,
  notes: string[],
): Promise<Grown> {
  const name = `${what}-${store}-${size}`;
  const files = await configurePostern({
    name,
    folder: stage.folder,
    store: store === 'lmdb' ? stage.lmdb(name) : await stage.redis(),
    moreClients: what === 'clients' ? size : 0,
    people: what === 'people' ? 0 : PEOPLE,
  });
  // A file holds 4 MiB, which is some fifteen thousand people.
  if (what === 'people') {
    const seconds = await seedPeople(files.configFile, size);
    notes.push(`${size} people were added to ${store} in ${seconds.toFixed(0)} s.`);
  }
  if (what === 'grants' && size > 0) {
    const seconds = await seedGrants(files.configFile, size);
    notes.push(`${size} grants (four records each) were written to ${store} in ${seconds.toFixed(0)} s.`);
  }
  // The first start makes keys, which takes by chance more or less time.
  await (await runPostern(files)).stop();
  const served = await runPostern(files);
  stage.later(() => served.stop());
  return { ...files, ...served, size };
}

const subjectName = (request: RequestName, size: number) => `${request}, ${size}`;

function cpuOf(rounds: readonly Round[], request: RequestName, size: number): Spread {
  return over(rounds, (round) => sliceOf(round, subjectName(request, size)).cpuMicroseconds);
}

async function subjectsOf(
  stage: section.Stage,
  { what, requests }: Curve,
  service: Grown,
): Promise<Subject[]> {
  const { size, pid, issuer } = service;
  const people = what === 'people' ? size : PEOPLE;
  const authorizations = Array.from(
    { length: what === 'clients' ? size : 0 },
    (_, index) => `Basic ${btoa(`service-${index}:${otherSecret(index)}`)}`,
  );
  /** Until each client has been there, and the code is compiled. */
  const warmSeconds = Math.max(stage.options.isQuick ? 1 : 3, Math.ceil(size / 2000));
  const byWrk = (name: RequestName, request: Parameters<typeof section.loaded>[2]) => {
    const subject = section.loaded(subjectName(name, size), pid, { ...request, authorizations });
    return { ...subject, warm: () => subject.slice(what === 'clients' ? warmSeconds : 2) };
  };
  const warm = stage.options.warmFlows;
  const makers: Readonly<Record<RequestName, () => Promise<Subject>>> = {
    token: async () => byWrk('token', section.tokenRequest(`${issuer}/oauth/token`)),
    introspection: async () =>
      byWrk(
        'introspection',
        section.introspectionRequest(
          `${issuer}/oauth/introspect`,
          what === 'clients'
            ? await section.machineToken(`${issuer}/oauth/token`)
            : await personsToken(issuer, people),
        ),
      ),
    refresh: async () =>
      generated(stage, service, {
        name: subjectName('refresh', size),
        mode: 'refresh',
        parallel: 32,
        people,
        warm: 2 * warm,
      }),
    'flow in a session': async () =>
      generated(stage, service, {
        name: subjectName('flow in a session', size),
        mode: 'session flow',
        parallel: 8,
        people,
        warm,
      }),
  };
  return Promise.all(requests.map((request) => makers[request]()));
}

async function personsToken(issuer: string, people: number): Promise<string> {
  const connection = new Connection(issuer);
  const { accessToken } = await new Person(issuer, personName(people - 1), connection).flow();
  connection.close();
  return accessToken;
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
      section.atMost(`ms until a changed file with ${many.size} clients runs`, reloadTimes, 2000),
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
