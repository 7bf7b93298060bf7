// Memory over minutes of mixed work on both stores: what a leak would show in. Only when asked for (--soak).
import { startGenerator } from '../generated.ts';
import { residentMegabytes, privateMegabytes } from '../processes.ts';
import { spread } from '../rounds.ts';
import * as section from '../section.ts';

const LOOK_EVERY_S = 10;
const SETTLED_MS = 20_000;
/** Connections to each service. */
const PARALLEL = 4;
const PEOPLE = 1000;
/** Flat: the last quarter of the time against the second. The first is warming up, and collections of garbage come and go. */
const FLAT = 1.1;

type Look = {
  readonly minute: number;
  readonly resident: number;
  /** Without files that are mapped, as the store of LMDB is. */
  readonly own: number;
};

export async function soak(stage: section.Stage): Promise<section.Findings> {
  const minutes = stage.options.soakMinutes;
  const services = await section.onBothStores(stage, { people: PEOPLE });
  const startedAt = Date.now();
  const minutesNow = () => (Date.now() - startedAt) / 60_000;
  const runs = services.map((service) => ({
    service,
    generator: startGenerator(stage, service, { mode: 'mixed', parallel: PARALLEL, people: PEOPLE }),
    looks: [] as Look[],
    rounds: 0,
    failed: 0,
  }));
  const look = () => {
    for (const { service, looks } of runs) {
      const [resident, own] = [sum(residentMegabytes(service.pid)), sum(privateMegabytes(service.pid))];
      looks.push({ minute: minutesNow(), resident, own });
    }
  };
  look();
  while (minutesNow() < minutes) {
    await Promise.all(
      runs.map(async (run) => {
        const { perSecond, refused = 0 } = await run.generator.go(LOOK_EVERY_S);
        run.rounds += perSecond * LOOK_EVERY_S;
        run.failed += refused;
      }),
    );
    look();
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const settled = services.map(({ pid }) => sum(residentMegabytes(pid)));
  const slopes = runs.map(({ looks }) => slopeOf(looks.slice(Math.floor(looks.length / 2))));
  return {
    tables: [
      {
        title: `Memory over ${minutes} minutes of mixed work`,
        columns: ['minute', ...services.flatMap(({ name }) => [`${name}, MB`, `${name}, MB without files`])],
        rows: [
          ...everyMinute(runs.map(({ looks }) => looks)),
          ['20 s later', ...settled.flatMap((one) => [section.short(one), ''])],
          ['MB a minute, second half', ...slopes.flatMap((slope) => ['', section.short(slope)])],
          ['rounds of work', ...runs.flatMap(({ rounds }) => [rounds.toFixed(0), ''])],
          ['of these broken off', ...runs.flatMap(({ failed }) => [String(failed), ''])],
        ],
      },
    ],
    targets: runs.map(({ service: { name }, looks }) => {
      const growth = quarterOf(looks, 3) / quarterOf(looks, 1);
      const what = `memory in the last quarter of ${minutes} min of mixed work / in the second: ${name}`;
      return section.atMost(what, spread([growth]), FLAT);
    }),
    pictures: {
      memory: {
        title: 'Memory under mixed work',
        x: 'minutes',
        y: 'MB',
        curves: runs.flatMap(({ service: { name }, looks }) => [
          { name, points: looks.map(({ minute, resident }) => [minute, resident] as const) },
          { name: `${name}, no files`, points: looks.map(({ minute, own }) => [minute, own] as const) },
        ]),
      },
    },
    notes: [
      `A round of work is a sign-in with consent, three flows in the session, six refreshes, 24 machine tokens and 18 introspections, on ` +
        `${PARALLEL} connections to each service at once. Without files: anonymous memory alone; LMDB maps its file, which grows with what is stored.`,
    ],
    raw: runs.map(({ service: { name }, looks, rounds }) => ({ name, looks, rounds })),
  };
}

function everyMinute(all: readonly (readonly Look[])[]): string[][] {
  const [first = []] = all;
  const rows: string[][] = [];
  for (const [index, { minute }] of first.entries()) {
    if (minute < rows.length) continue;
    const figures = all.flatMap((looks) => [looks[index]?.resident, looks[index]?.own]);
    rows.push([minute.toFixed(1), ...figures.map((figure) => section.short(figure ?? Number.NaN))]);
  }
  return rows;
}

/** Median. */
function quarterOf(looks: readonly Look[], index: number): number {
  const [from, to] = [(index * looks.length) / 4, ((index + 1) * looks.length) / 4];
  return spread(looks.slice(Math.floor(from), Math.ceil(to)).map(({ own }) => own)).median;
}

/** Least squares, megabytes a minute. */
function slopeOf(looks: readonly Look[]): number {
  const mean = (figures: readonly number[]) => sum(figures) / figures.length;
  const [x, y] = [mean(looks.map(({ minute }) => minute)), mean(looks.map(({ own }) => own))];
  const above = sum(looks.map(({ minute, own }) => (minute - x) * (own - y)));
  return above / sum(looks.map(({ minute }) => (minute - x) ** 2));
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, one) => total + one, 0);
}
