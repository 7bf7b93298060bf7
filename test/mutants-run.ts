// `npm run mutants`: applies each fault of mutants.ts to a copy of the project, one after the other, and reports whether a test fails.
// `--only CASE` runs one and can be repeated. Fails below 95 %.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { copyWithout, removeCopy, runIn } from './features/without-features.ts';
import { MUTANTS, NOT_OURS, type Mutant, patternOf, placesOf, testsOf } from './mutants.ts';

const ENOUGH = 0.95;

type Verdict = 'caught' | 'survived' | 'does not apply' | 'breaks the run';

/** Only a failed test counts: any other failure proves nothing. */
async function judge(folder: string, mutant: Mutant): Promise<Verdict> {
  const [file, ...others] = placesOf(mutant, path.join(folder, 'src'));
  const tests = testsOf(mutant, path.join(folder, 'test'));
  if (file === undefined || others.length > 0 || tests.length === 0) return 'does not apply';
  const before = await readFile(file, 'utf8');
  await writeFile(
    file,
    before.replace(patternOf(mutant), () => mutant.new),
  );
  const options = ['--project', 'suite', '--bail', '1', '--testNamePattern', `${mutant.case}\\b`];
  // The run builds dist/ again, for tests that start processes.
  const run = ['-u', 'POSTERN_TEST_NO_BUILD', 'NO_COLOR=1', 'vitest', 'run', ...options, ...tests];
  const { code, output } = await runIn(folder, 'env', run);
  await writeFile(file, before);
  if (code === 0) return 'survived';
  return /^ +Tests +\d+ failed/m.test(output) ? 'caught' : 'breaks the run';
}

const { only } = parseArgs({ options: { only: { type: 'string', multiple: true } } }).values;
const chosen = MUTANTS.filter((mutant) => only?.includes(mutant.case) ?? true);
const verdicts: Verdict[] = [];
const folder = await copyWithout([]);
try {
  for (const mutant of chosen) {
    const verdict = await judge(folder, mutant);
    verdicts.push(verdict);
    process.stdout.write(`${mutant.case}  ${mutant.feature.padEnd(20)}  ${verdict}\n`);
  }
} finally {
  await removeCopy(folder);
}
const share = verdicts.filter((verdict) => verdict === 'caught').length / verdicts.length;
process.stdout.write(`${(100 * share).toFixed(0)} % of ${verdicts.length} caught\n`);
if (only === undefined)
  for (const [id, reason] of Object.entries(NOT_OURS)) process.stdout.write(`${id}  no mutant: ${reason}\n`);
if (!(share >= ENOUGH)) process.exitCode = 1;
