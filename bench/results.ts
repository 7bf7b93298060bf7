// What was found, on disk: results/SECTION.json for each section with its own date, and results.md and the pictures made of all of
// them. A section that wasn't measured this time keeps what it had. Owns no figure.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import path from 'node:path';
import { toSvg } from './plot.ts';
import { reasonOf } from './reasons.ts';
import type { Findings, Options, Table, Target } from './section.ts';

type About = Readonly<Record<string, string>>;
type Kept = Findings & { readonly section: string; readonly about: About };

/** Into `folder`/results/SECTION.json. */
export async function keep(
  folder: string,
  section: string,
  { findings, options, seconds }: { findings: Findings; options: Options; seconds: number },
): Promise<void> {
  const about = { ...(await aboutThisRun(options)), took: `${seconds.toFixed(0)} s` };
  await mkdir(path.join(folder, 'results'), { recursive: true });
  const kept: Kept = { section, about, ...findings };
  await writeFile(fileOf(folder, section), `${JSON.stringify(kept, undefined, 1)}\n`);
}

/** `folder`/results.md and its pictures, from what is kept; `sections` in their order. */
export async function render(folder: string, sections: readonly string[]): Promise<void> {
  const files = sections.map((section) => fileOf(folder, section)).filter((file) => existsSync(file));
  const all = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, 'utf8')) as Kept));
  await mkdir(path.join(folder, 'results'), { recursive: true });
  for (const [name, drawing] of all.flatMap(({ pictures = {} }) => Object.entries(pictures))) {
    await writeFile(path.join(folder, 'results', `${name}.svg`), toSvg(drawing));
  }
  await writeFile(path.join(folder, 'results.md'), toMarkdown(all));
  const written = [path.join(folder, 'results.md'), path.join(folder, 'results')];
  execFileSync('node_modules/.bin/prettier', ['--write', '--log-level', 'warn', ...written]);
}

function fileOf(folder: string, section: string): string {
  return path.join(folder, 'results', `${section}.json`);
}

async function aboutThisRun({ rounds, seconds, isQuick, isFull }: Options): Promise<About> {
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const versions = ['oidc-provider', 'koa', 'jose', 'ioredis', 'lmdb', '@node-rs/argon2'];
  const [cpu] = cpus();
  const redis = execFileSync('redis-server', ['--version'], { encoding: 'utf8' });
  return {
    CPU: `${cpus().length} × ${cpu?.model ?? 'unknown'}`,
    memory: `${(totalmem() / 2 ** 30).toFixed(0)} GB`,
    kernel: release(),
    Node: `${process.version}, OpenSSL ${process.versions.openssl}`,
    Redis: /v=(\S+)/.exec(redis)?.[1] ?? 'unknown',
    packages: versions.map((name) => `${name} ${dependencies[name]}`).join(', '),
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    run: `${rounds} rounds of ${seconds} s${isQuick ? ', quick' : ''}${isFull ? ', full' : ''}`,
  };
}

/** Of the machine, as against one run of one section. */
const MACHINE = ['CPU', 'memory', 'kernel', 'Node', 'Redis', 'packages'];

function toMarkdown(all: readonly Kept[]): string {
  const machines = MACHINE.map((name) => [
    name,
    [...new Set(all.map(({ about }) => about[name] ?? ''))].join('; '),
  ]);
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; how it measures is in [README.md](README.md). Median of all rounds, and from least to most. Read the',
    'ratios: they are made within a round. Load generators and Redis run on the same cores.',
    '',
    ...toRows({ title: '', columns: ['', ''], rows: machines }),
    '',
    ...toRows({
      title: '',
      columns: ['section', 'measured (UTC)', 'run', 'took'],
      rows: all.map(({ section, about: { date = '', run = '', took = '' } }) => [section, date, run, took]),
    }),
    '',
    '## Targets',
    '',
    ...toRows({
      title: '',
      columns: ['target', 'goal', 'found', 'met', 'where the rest goes'],
      rows: all.flatMap(({ targets }) => targets.map(targetRow)),
    }),
    '',
    ...all.flatMap(toPart),
  ].join('\n');
}

function toPart({ tables, pictures = {}, notes = [] }: Kept): string[] {
  return [
    ...tables.flatMap((table) => [`## ${table.title}`, '', ...toRows(table), '']),
    ...Object.entries(pictures).flatMap(([name, { title }]) => [`![${title}](results/${name}.svg)`, '']),
    ...notes.flatMap((note) => [note, '']),
  ];
}

function targetRow({ what, goal, found, isMet }: Target): string[] {
  return [what, goal, found, isMet ? 'yes' : '**no**', isMet ? '' : reasonOf(what)];
}

function toRows({ columns, rows }: Table): string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)];
}
