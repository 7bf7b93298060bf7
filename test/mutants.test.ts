// Whether the mutants still match the text of src. `npm run mutants` shows whether the tests notice them.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MUTANTS, NOT_OURS, placesOf, testsOf } from './mutants.ts';

const isHere = ({ feature }: { readonly feature: string }) =>
  feature === 'core' || existsSync(path.join('src/features', feature));

it('each mutant has one place in src, and a test of its case', () => {
  const faults = MUTANTS.filter(isHere)
    .filter((mutant) => placesOf(mutant, 'src').length !== 1 || testsOf(mutant, 'test').length === 0)
    .map((mutant) => mutant.case);
  expect(faults).toEqual([]);
});

it('each case whose number ends in 0, 3 or 7 has one mutant, or a reason for none', () => {
  const rows = readFileSync('test/cases.md', 'utf8').matchAll(/^\| ([A-Z]{2}-\d[037]) \|/gm);
  const cases = [...MUTANTS.map((mutant) => mutant.case), ...Object.keys(NOT_OURS)];
  expect(cases.toSorted()).toEqual([...rows].map(([, id = '']) => id).toSorted());
});
