// From starting the built service to its first answer, and what a worker takes of memory while nobody asks it anything.
import { configurePostern, runPostern } from '../postern.ts';
import { residentMegabytes } from '../processes.ts';
import { spread, type Spread } from '../rounds.ts';
import * as section from '../section.ts';
import { Connection } from '../wire.ts';

const SETTLED_MS = 3000;
const TRY_EVERY_MS = 5;

type Start = { readonly firstAnswerMs: number; readonly megabytes: readonly number[] };

export async function start(stage: section.Stage): Promise<section.Findings> {
  const kinds = [
    { name: '1 process, lmdb', workers: 1, store: stage.lmdb('start-1') },
    { name: '1 process, redis', workers: 1, store: await stage.redis() },
    { name: '2 workers, lmdb', workers: 2, store: stage.lmdb('start-2') },
    { name: '2 workers, redis', workers: 2, store: await stage.redis() },
  ];
  const times = stage.options.isQuick ? 1 : Math.min(4, stage.options.rounds);
  const found = new Map<string, { readonly first: Start; readonly later: readonly Start[] }>();
  for (const kind of kinds) {
    const files = await configurePostern({ ...kind, folder: stage.folder });
    const first = await startOnce(files);
    const later: Start[] = [];
    for (let time = 0; time < times; time += 1) later.push(await startOnce(files));
    found.set(kind.name, { first, later });
  }
  const all = [...found].map(([name, { first, later }]) => ({
    name,
    first: spread([first.firstAnswerMs]),
    later: spread(later.map(({ firstAnswerMs }) => firstAnswerMs)),
    worker: spread(later.map(({ megabytes }) => workerMegabytes(megabytes))),
    total: spread(later.map(({ megabytes }) => megabytes.reduce((sum, one) => sum + one, 0))),
  }));
  return {
    tables: [
      {
        title: 'Start and idle memory',
        columns: ['subject', 'first answer ms', 'with an empty store ms', 'MB a worker', 'MB in all'],
        rows: all.map(({ name, first, later, worker, total }) => [
          name,
          ...[later, first, worker, total].map((one: Spread) => section.format(one)),
        ]),
      },
    ],
    targets: all.flatMap(({ name, later, worker }) => [
      section.atMost(`ms from start to first answer: ${name}`, later, 1000),
      section.atMost(`MB of memory a worker, idle: ${name}`, worker, 150),
    ]),
    notes: [
      'Each start is a new process. Files may be in the operating system’s cache. With an empty store the signing keys are made first, ' +
        'which takes by chance more or less time. Memory is VmRSS three seconds after the first answer.',
    ],
    raw: Object.fromEntries(found),
  };
}

/** With workers, the first process of the tree watches over them. */
function workerMegabytes([first = 0, ...others]: readonly number[]): number {
  return others.length === 0 ? first : Math.max(...others);
}

async function startOnce(
  files: Parameters<typeof runPostern>[0] & { readonly issuer: string },
): Promise<Start> {
  const startedAt = performance.now();
  const starting = runPostern(files);
  // Looked at from outside, because a line on standard output is no answer.
  const answered = firstAnswer(files.issuer).then(() => performance.now() - startedAt);
  const served = await starting;
  const firstAnswerMs = await answered;
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const megabytes = residentMegabytes(served.pid);
  await served.stop();
  return { firstAnswerMs, megabytes };
}

async function firstAnswer(issuer: string): Promise<void> {
  for (;;) {
    const connection = new Connection(issuer);
    try {
      const { status } = await connection.ask({ method: 'GET', target: '/.well-known/openid-configuration' });
      if (status === 200) return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, TRY_EVERY_MS));
    } finally {
      connection.close();
    }
  }
}
