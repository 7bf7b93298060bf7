// Whether the mutants still match the text of src. `npm run mutants` shows whether the tests notice them.
import { existsSync } from 'node:fs';
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

it('no case has two', () => {
  const cases = [...MUTANTS.map((mutant) => mutant.case), ...NOT_OURS];
  expect(cases).toEqual([...new Set(cases)]);
});
