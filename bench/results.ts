// The results on disk: results.json with the date and commit of each section, and results.md and the charts made from it. A
// section that wasn't measured this time keeps its earlier results.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, release } from 'node:os';
import path from 'node:path';
import { figure, type Measured, spread, type Spread } from './measure.ts';
import { toSvg } from './plot.ts';
import { type Chart, judge, type Section, type Verdict } from './section.ts';

type Curves = { readonly name: string; readonly points: readonly (readonly [number, number])[] };
type Kept = {
  readonly about: Readonly<Record<string, string>>;
  readonly verdicts: readonly Verdict[];
  readonly subjects: Readonly<Record<string, Readonly<Record<string, Spread>>>>;
  readonly chart?: Omit<Chart, 'curves'> & { readonly curves: readonly Curves[] };
};
export type Results = Readonly<Record<string, Kept>>;

export async function readResults(file: string): Promise<Results> {
  return existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as Results) : {};
}

/** Stores the results of one section. */
export function keep(
  { subjects, targets, chart }: Awaited<ReturnType<Section>>,
  measured: Measured,
  took: number,
): Kept {
  const { rounds, spoilt, isQuiet } = measured;
  const names = subjects.map(({ name }) => name);
  const figuresOf = (name: string) => Object.keys(rounds[0]?.(name) ?? {});
  const spreadOf = (name: string, of: string) => spread(rounds.map(figure(name, of)));
  const table = (name: string) =>
    Object.fromEntries(figuresOf(name).map((of) => [of, spreadOf(name, of)] as const));
  return {
    about: {
      ...aboutThisMachine(),
      rounds: String(rounds.length),
      'rounds spoilt by foreign load': `${spoilt}${isQuiet ? '' : ' (too many: not to be believed)'}`,
      took: `${took.toFixed(0)} s`,
    },
    verdicts: targets.map((target) => judge(measured, target)),
    subjects: Object.fromEntries(names.map((name) => [name, table(name)] as const)),
    ...(chart !== undefined && {
      chart: {
        ...chart,
        curves: chart.curves.map(({ name, points }) => ({
          name,
          points: points.map(([x, subject]) => [x, spreadOf(subject, 'cpu').median] as const),
        })),
      },
    }),
  };
}

function aboutThisMachine() {
  const run = (command: string, ...args: readonly string[]) => {
    try {
      return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return 'unknown';
    }
  };
  const list = run('npm', 'ls', '--json', '--depth=0', 'oidc-provider');
  const engine = /"oidc-provider": \{\s*"version": "([^"]+)/.exec(list)?.[1] ?? 'unknown';
  return {
    'measured (UTC)': new Date().toISOString().slice(0, 16).replace('T', ' '),
    Postern: run('git', 'describe', '--always', '--dirty'),
    'oidc-provider': engine,
    Node: process.version,
    OpenSSL: process.versions.openssl,
    Redis: /v=(\S+)/.exec(run('redis-server', '--version'))?.[1] ?? 'unknown',
    CPU: `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}`,
    kernel: release(),
  };
}

/** Writes results.json, results.md and the charts. */
export async function write(folder: string, results: Results): Promise<void> {
  await mkdir(path.join(folder, 'results'), { recursive: true });
  const json = path.join(folder, 'results.json');
  const markdown = path.join(folder, 'results.md');
  await writeFile(
    json,
    JSON.stringify(results, (_key, value: unknown) => shortened(value)),
  );
  await writeFile(markdown, toMarkdown(results));
  for (const [name, { chart }] of Object.entries(results)) {
    if (chart !== undefined) await writeFile(path.join(folder, 'results', `${name}.svg`), toSvg(chart));
  }
  execFileSync('node_modules/.bin/prettier', ['--write', '--log-level', 'warn', json, markdown]);
}

const shortened = (value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value);

function toMarkdown(results: Results): string {
  const all = Object.entries(results);
  const abouts = all.map(([section, { about }]) => ({ section, ...about }));
  const columns = [...new Set(abouts.flatMap((about) => Object.keys(about)))];
  const verdicts = all.flatMap(([, kept]) => kept.verdicts);
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; how it measures is in [README.md](README.md). Medians, and quartiles in parentheses, of ratios within a round.',
    '',
    ...toRows(
      ['what', 'target', 'stretch', 'found', 'verdict', 'where the rest goes'],
      verdicts.map((one) => [
        one.what,
        one.goal,
        one.stretch,
        format(one.found),
        `${one.isMet ? 'met' : '**missed**'}${one.isOnTheLine ? ', on the line' : ''}`,
        one.isMet ? '' : (one.reason ?? ''),
      ]),
    ),
    '## Runs',
    '',
    ...toRows(
      columns,
      abouts.map((about: Readonly<Record<string, string>>) => columns.map((column) => about[column] ?? '')),
    ),
    ...all.flatMap(toPart),
  ].join('\n');
}

/** `cpu` and `hash` are µs a request, `rate` is requests a second, p50 and p99 are ms. */
function toPart([section, { subjects, chart }]: readonly [string, Kept]): string[] {
  const columns = [...new Set(Object.values(subjects).flatMap((figures) => Object.keys(figures)))];
  const cell = (found: Spread | undefined) => (found === undefined ? '' : format(found));
  return [
    `## ${section}`,
    '',
    ...toRows(
      ['subject', ...columns.map((name) => UNITS[name] ?? name)],
      Object.entries(subjects).map(([name, of]) => [name, ...columns.map((column) => cell(of[column]))]),
    ),
    ...(chart === undefined ? [] : [`![${chart.title}](results/${section}.svg)`, '']),
  ];
}

const UNITS: Readonly<Record<string, string>> = {
  rate: 'a second',
  cpu: 'CPU µs each',
  hash: 'of that, password hash',
  p50: 'p50 ms',
  p99: 'p99 ms',
};

function toRows(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line), ''];
}

export function format({ low, median, high }: Spread): string {
  // A value that can't be computed is null in JSON.
  if (!Number.isFinite(median)) return '–';
  const [from, middle, to] = [low, median, high].map((one) =>
    Number.isInteger(one) ? String(one) : Math.abs(one) >= 100 ? one.toFixed(0) : one.toFixed(2),
  );
  return from === to ? String(middle) : `${middle} (${from}–${to})`;
}

/** Targets whose verdict differs from that in `others`, and is on the line in neither; targets in only one of them don't count. */
export function differences(results: Results, others: Results): string[] {
  const listed = (all: Results) => Object.values(all).flatMap(({ verdicts }) => verdicts);
  const before = new Map(listed(others).map((one) => [one.what, one]));
  return listed(results).flatMap((one) => {
    const other = before.get(one.what);
    if (other === undefined || other.isMet === one.isMet || other.isOnTheLine || one.isOnTheLine) return [];
    return [`${one.what} ${one.goal}: ${format(one.found)} here, ${format(other.found)} there`];
  });
}
