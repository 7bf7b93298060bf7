// Writes what was found: bench/results.md for people, bench/results/results.json for programs. Owns no figure.
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { RESULTS_FOLDER } from './plot.ts';
import type { Findings, Options, Table, Target } from './section.ts';

export type Found = ReadonlyMap<string, Findings>;

export async function writeResults(found: Found, options: Options): Promise<void> {
  const about = await aboutThisRun(options);
  await mkdir(RESULTS_FOLDER, { recursive: true });
  await writeFile('bench/results.md', toMarkdown(found, about));
  const sections = Object.fromEntries([...found].map(([name, { targets, raw }]) => [name, { targets, raw }]));
  await writeFile(`${RESULTS_FOLDER}/results.json`, `${JSON.stringify({ about, sections }, undefined, 1)}\n`);
}

type About = Readonly<Record<string, string>>;

async function aboutThisRun({ rounds, seconds, isQuick, isFull, soakMinutes }: Options): Promise<About> {
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const versions = ['oidc-provider', 'koa', 'jose', 'ioredis', 'lmdb', '@node-rs/argon2'];
  const [cpu] = cpus();
  const tool = (command: string, ...args: string[]) =>
    execFileSync(command, args, { encoding: 'utf8' }).split('\n')[0] ?? '';
  return {
    date: new Date().toISOString(),
    CPU: `${cpus().length} × ${cpu?.model ?? 'unknown'}`,
    memory: `${(totalmem() / 2 ** 30).toFixed(0)} GB`,
    kernel: release(),
    Node: `${process.version}, OpenSSL ${process.versions.openssl}`,
    Redis: /v=(\S+)/.exec(tool('redis-server', '--version'))?.[1] ?? 'unknown',
    packages: versions.map((name) => `${name} ${dependencies[name]}`).join(', '),
    run: `${rounds} rounds of ${seconds} s${isQuick ? ', quick' : ''}${isFull ? ', full' : ''}${soakMinutes > 0 ? `, soak of ${soakMinutes} min` : ''}`,
  };
}

function toMarkdown(found: Found, about: About): string {
  const parts = [...found.values()];
  const pictures = parts.flatMap(({ pictures: names = [] }) => names);
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; how it measures is in [README.md](README.md). Median of all rounds, and from least to most. Read the',
    'ratios: they are made within a round. Load generators and Redis run on the same cores.',
    '',
    ...toRows({ title: '', columns: ['', ''], rows: Object.entries(about) }),
    '',
    '## Targets',
    '',
    ...toRows({
      title: '',
      columns: ['target', 'goal', 'found', 'met', 'where the rest goes'],
      rows: parts.flatMap(({ targets }) => targets.map(targetRow)),
    }),
    '',
    ...parts.flatMap(({ tables, notes = [] }) => [
      ...tables.flatMap((table) => [`## ${table.title}`, '', ...toRows(table), '']),
      ...notes.flatMap((note) => [note, '']),
    ]),
    ...(pictures.length > 0 ? ['## How cost grows', ''] : []),
    ...pictures.flatMap((name) => [`![${name}](results/${name}.svg)`, '']),
  ].join('\n');
}

function targetRow({ what, goal, found, isMet, because = '' }: Target): string[] {
  return [what, goal, found, isMet ? 'yes' : '**no**', isMet ? '' : because];
}

function toRows({ columns, rows }: Table): string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)];
}
