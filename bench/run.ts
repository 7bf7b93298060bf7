// `npm run bench`: measures section by section, prints and writes the results. See README.md in this folder.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { measure, type Pace } from './measure.ts';
import { differences, format, keep, readResults, write } from './results.ts';
import type { Section } from './section.ts';
import { expiry } from './sections/expiry.ts';
import { clients, grants, people, resources } from './sections/growth.ts';
import { lists } from './sections/lists.ts';
import { crowd, stall, start, trips } from './sections/process.ts';
import {
  documents,
  exchange,
  flow,
  introspection,
  refresh,
  token,
  userinfo,
  workers,
} from './sections/ratios.ts';
import { Stage } from './service.ts';

const SECTIONS: Readonly<Record<string, Section>> = {
  token,
  introspection,
  workers,
  documents,
  userinfo,
  refresh,
  exchange,
  flow,
  crowd,
  lists,
  trips,
  stall,
  expiry,
  start,
  'growth-clients': clients,
  'growth-people': people,
  'growth-grants': grants,
  'growth-resources': resources,
};
const PEER = 'bench/peers/node_modules/@node-oauth/oauth2-server';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    out: { type: 'string' },
    render: { type: 'boolean', default: false },
    verdicts: { type: 'string' },
  },
});
const { quick: isQuick, full: isFull } = values;
const pace: Pace = {
  rounds: Number(values.rounds ?? (isQuick ? 2 : 8)),
  seconds: 1,
  warmSeconds: isQuick ? 2 : 60,
};
/** A quick run isn't reliable, so it doesn't replace the results of a full one. */
const out = values.out ?? (isQuick ? path.join(tmpdir(), 'postern-bench-quick') : 'bench');
const file = path.join(out, 'results.json');

/** The sections to run; `growth` stands for all sections whose names begin with it. */
function chosen(): string[] {
  if (values.render) return [];
  const names = Object.keys(SECTIONS);
  return (values.only?.split(',') ?? ['']).flatMap((only) => {
    const found = names.filter((name) => only === '' || name === only || name.startsWith(`${only}-`));
    if (found.length === 0) throw new Error(`there is no section ${only}: choose of ${names.join(', ')}`);
    return found;
  });
}

/** Returns false if other processes used the machine, or something failed. */
async function run(name: string, section: Section): Promise<boolean> {
  const stage = new Stage(pace, { isQuick, isFull });
  const startedAt = performance.now();
  try {
    const made = await section(stage);
    const measured = await measure(made.subjects, stage.pace);
    const kept = keep(made, measured, (performance.now() - startedAt) / 1000);
    // Written after each section, so that an interrupted run keeps its results.
    const results = await readResults(file);
    const order = Object.keys(SECTIONS).filter((one) => one === name || results[one] !== undefined);
    await write(
      out,
      Object.fromEntries(order.map((one) => [one, one === name ? kept : (results[one] ?? kept)])),
    );
    process.stdout.write(`\n${name}: ${kept.about['took']}, spoilt rounds: ${measured.spoilt}\n`);
    for (const { what, goal, found, isMet } of kept.verdicts) {
      process.stdout.write(`${isMet ? 'met   ' : 'MISSED'} ${what} ${goal}: ${format(found)}\n`);
    }
    if (!measured.isQuiet) process.stdout.write(`SPOILT ${name}: something else used the machine\n`);
    return measured.isQuiet;
  } catch (error) {
    process.stdout.write(`FAILED ${name}: ${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
    return false;
  } finally {
    await stage.end();
  }
}

// The end of this process kills the measured processes, but a signal alone doesn't end it in that way.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const names = chosen();
if (names.length > 0) {
  if (!existsSync('/usr/bin/wrk')) throw new Error('this needs wrk: install the package and run it again');
  if (!existsSync(PEER)) execFileSync('npm', ['ci', '--prefix', 'bench/peers'], { stdio: 'ignore' });
}
let isGood = true;
for (const name of names) {
  const section = SECTIONS[name];
  if (section !== undefined && !(await run(name, section))) isGood = false;
}
const results = await readResults(file);
if (values.render) await write(out, results);
if (values.verdicts !== undefined) {
  const others = differences(results, await readResults(values.verdicts));
  process.stdout.write(
    others.length === 0 ? 'the same verdicts\n' : `other verdicts:\n${others.join('\n')}\n`,
  );
  if (others.length > 0) isGood = false;
}
process.stdout.write(`written: ${out}/results.md\n`);
process.exit(isGood ? 0 : 1);
