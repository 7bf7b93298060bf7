// `npm run bench`: measures section by section, then prints and writes what it found. See README.md in this folder.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { keep, render } from './results.ts';
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
    'warm-flows': { type: 'string' },
    soak: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});
const options: Options = {
  rounds: Number(values.rounds ?? (values.quick ? 2 : 5)),
  seconds: Number(values.seconds ?? (values.quick ? 1 : 2)),
  isQuick: values.quick,
  isFull: values.full,
  soakMinutes: Number(values.minutes),
  warmFlows: Number(values['warm-flows'] ?? (values.quick ? 100 : 800)),
};
/** A quick run isn't to be believed, so it doesn't replace one that is. */
const out = values.out ?? (values.quick ? path.join(tmpdir(), 'postern-bench-quick') : 'bench');

function chosenSections(): string[] {
  const usual = Object.keys(SECTIONS).filter((name) => name !== 'soak' || values.soak);
  const chosen = values.only === undefined ? usual : values.only.split(',');
  const unknown = chosen.find((name) => SECTIONS[name] === undefined);
  if (unknown === undefined) return chosen;
  throw new Error(`there is no section ${unknown}: choose of ${Object.keys(SECTIONS).join(', ')}`);
}

function requireTools(): void {
  if (!existsSync('/usr/bin/wrk')) throw new Error('this needs wrk: install the package and run it again');
  if (!existsSync(PEER)) execFileSync('npm', ['ci', '--prefix', 'bench/peers'], { stdio: 'ignore' });
}

async function measure(name: string, section: Section): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-bench-'));
  const stage = new Stage(options, folder);
  // A run that is broken off may leave gigabytes.
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  const startedAt = performance.now();
  try {
    const findings = await section(stage);
    const seconds = (performance.now() - startedAt) / 1000;
    process.stderr.write(`${name}: ${seconds.toFixed(0)} s\n`);
    print(findings);
    await keep(out, name, { findings, options, seconds });
    // After each, so that a run that is broken off keeps what it has.
    await render(out, Object.keys(SECTIONS));
  } finally {
    await stage.end();
    clear();
    process.off('exit', clear);
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

// Processes that are being measured are killed at the end of this one, which a signal alone doesn't bring about.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const failed: string[] = [];
const chosen = values.render ? [] : chosenSections();
if (values.render) await render(out, Object.keys(SECTIONS));
else requireTools();
for (const name of chosen) {
  const section = SECTIONS[name];
  try {
    if (section !== undefined) await measure(name, section);
  } catch (error) {
    // What the others found isn't lost.
    failed.push(name);
    process.stderr.write(`${name} failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  }
}
process.stdout.write(`\nwritten: ${out}/results.md, ${out}/results/\n`);
process.exit(failed.length > 0 ? 1 : 0);
