// `npm run bench`: measures section by section, then prints and writes what it found. See README.md in this folder.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { writeResults } from './results.ts';
import { type Findings, type Options, type Section, Stage } from './section.ts';
import { documents } from './sections/documents.ts';
import { flow } from './sections/flow.ts';
import { growth } from './sections/growth.ts';
import { introspection } from './sections/introspection.ts';
import { refresh } from './sections/refresh.ts';
import { signIn } from './sections/sign-in.ts';
import { soak } from './sections/soak.ts';
import { start } from './sections/start.ts';
import { tokens } from './sections/token.ts';
import { trips } from './sections/trips.ts';

const SECTIONS: Readonly<Record<string, Section>> = {
  token: tokens,
  introspection,
  documents,
  refresh,
  flow,
  'sign-in': signIn,
  trips,
  start,
  growth,
  soak,
};
const PEER = 'bench/peers/node_modules/@node-oauth/oauth2-server';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    soak: { type: 'string' },
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
  },
});
const options: Options = {
  rounds: Number(values.rounds ?? (values.quick ? 2 : 5)),
  seconds: Number(values.seconds ?? (values.quick ? 1 : 2)),
  isQuick: values.quick,
  isFull: values.full,
  soakMinutes: Number(values.soak ?? 0),
};

function chosenSections(): string[] {
  const usual = Object.keys(SECTIONS).filter((name) => name !== 'soak' || options.soakMinutes > 0);
  const chosen = values.only === undefined ? usual : values.only.split(',');
  const unknown = chosen.find((name) => SECTIONS[name] === undefined);
  if (unknown === undefined) return chosen;
  throw new Error(`there is no section ${unknown}: choose of ${Object.keys(SECTIONS).join(', ')}`);
}

function requireTools(): void {
  if (!existsSync('/usr/bin/wrk')) throw new Error('this needs wrk: install the package and run it again');
  if (!existsSync(PEER)) execFileSync('npm', ['ci', '--prefix', 'bench/peers'], { stdio: 'ignore' });
}

async function measure(name: string): Promise<Findings | undefined> {
  const section = SECTIONS[name];
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-bench-'));
  const stage = new Stage(options, folder);
  const startedAt = performance.now();
  try {
    return await section?.(stage);
  } finally {
    await stage.end();
    await rm(folder, { recursive: true, force: true });
    process.stderr.write(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
  }
}

function print({ tables, targets }: Findings): void {
  for (const { title, columns, rows } of tables) {
    process.stdout.write(`\n${title}\n`);
    // oxlint-disable-next-line no-console
    console.table(
      rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]]))),
    );
  }
  for (const { what, goal, found, isMet } of targets) {
    process.stdout.write(`${isMet ? 'met   ' : 'MISSED'} ${what} ${goal}: ${found}\n`);
  }
}

const found = new Map<string, Findings>();
const failed: string[] = [];
const chosen = chosenSections();
requireTools();
for (const name of chosen) {
  try {
    const findings = await measure(name);
    if (findings === undefined) continue;
    found.set(name, findings);
    print(findings);
  } catch (error) {
    // What the others found isn't lost.
    failed.push(name);
    process.stderr.write(`${name} failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  }
}
await writeResults(found, options);
process.stdout.write('\nwritten: bench/results.md, bench/results/\n');
process.exit(failed.length > 0 ? 1 : 0);
