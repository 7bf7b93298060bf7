// Two builds, old and new, in turn within one run: whether a change costs CPU. `npm run bench:compare -- ../old [--pairs N] [--seconds N] [--only NAME]`.
// The other folder is a checkout that has been built. Exits with 1 where the lower quartile of an operation's ratio is above 1.05.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { generated } from './generated.ts';
import { personName } from './names.ts';
import { Person } from './person.ts';
import type { Postern } from './postern.ts';
import type { Subject } from './rounds.ts';
import * as section from './section.ts';
import { Connection } from './wire.ts';

const MAY_COST = 1.05;
const PROGRAM = 'dist/main.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '2' },
    store: { type: 'string', default: 'lmdb' },
    only: { type: 'string' },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the folder of the other build');
const [pairs, seconds] = [Number(values.pairs), Number(values.seconds)];
const generator = { parallel: 16, people: 100 } as const;

/** What is compared, of one build. */
async function operationsOf(stage: section.Stage, service: Postern): Promise<readonly Subject[]> {
  const { issuer, pid } = service;
  const connection = new Connection(issuer);
  const person = await new Person(issuer, personName(1), connection).flow();
  connection.close();
  const machine = await section.machineToken(`${issuer}/oauth/token`);
  const introspection = (name: string, token: string) =>
    section.loaded(name, pid, section.introspectionRequest(`${issuer}/oauth/introspect`, token));
  return [
    section.loaded('machine token', pid, section.tokenRequest(`${issuer}/oauth/token`)),
    introspection('introspection, machine', machine),
    introspection('introspection, person', person.accessToken),
    section.loaded('discovery', pid, { url: `${issuer}/.well-known/openid-configuration` }),
    generated(stage, service, { ...generator, name: 'refresh', mode: 'refresh', warm: 2000 }),
    generated(stage, service, { ...generator, name: 'flow in a session', mode: 'session flow', warm: 400 }),
  ];
}

async function start(stage: section.Stage, name: string, program: string): Promise<readonly Subject[]> {
  const store = values.store === 'redis' ? await stage.redis() : stage.lmdb(name);
  return operationsOf(stage, await stage.postern({ name, store, program }));
}

const cpuOf = async (subject: Subject) => (await subject.slice(seconds)).cpuMicroseconds;
const at = (sorted: readonly number[], share: number) =>
  sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;

/** The ratios new / old of all pairs, in order; which one goes first changes with each pair. */
async function compare(older: Subject, newer: Subject): Promise<readonly number[]> {
  for (const { warm, slice } of [older, newer]) await (warm ?? (() => slice(5)))();
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [first, second] = pair % 2 === 0 ? [older, newer] : [newer, older];
    const [one, two] = [await cpuOf(first), await cpuOf(second)];
    ratios.push(pair % 2 === 0 ? two / one : one / two);
  }
  return ratios.toSorted((a, b) => a - b);
}

const folder = await mkdtemp(path.join(tmpdir(), 'postern-compare-'));
const stage = new section.Stage(
  { rounds: pairs, seconds, isQuick: false, isFull: false, soakMinutes: 0, warmFlows: 0 },
  folder,
);
try {
  const olds = await start(stage, 'old', path.join(other, PROGRAM));
  const news = await start(stage, 'new', PROGRAM);
  for (const [index, newer] of news.entries()) {
    if (values.only !== undefined && values.only !== newer.name) continue;
    const older = olds[index];
    if (older === undefined) throw new TypeError('the builds have the same operations');
    const ratios = await compare(older, newer);
    const [low, median, high] = [at(ratios, 0.25), at(ratios, 0.5), at(ratios, 0.75)].map((one) =>
      one.toFixed(3),
    );
    const verdict = at(ratios, 0.25) > MAY_COST ? 'costs more' : 'ok';
    if (verdict !== 'ok') process.exitCode = 1;
    process.stdout.write(
      `${newer.name}: CPU new / old ${median} (${low} to ${high}), ${pairs} pairs: ${verdict}\n`,
    );
  }
} finally {
  await stage.end();
  await rm(folder, { recursive: true, force: true });
}
