import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FAULTS } from '../../../src/features/doctor/faults.ts';

const [, DOCTOR = ''] = readFileSync('docs/troubleshooting.md', 'utf8').split('### `postern doctor`');

it('docs/troubleshooting.md has every finding of the doctor, and no other', () => {
  // The first column alone: the second speaks of settings and headers.
  const firsts = [...DOCTOR.matchAll(/^\| ([^|]+)\|/gm)].map(([, column = '']) => column);
  const listed = firsts.flatMap((column) =>
    [...column.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name),
  );
  // Also the finding of email, whose advice is in the email feature.
  expect(listed.toSorted()).toEqual([...Object.keys(FAULTS), 'mail'].toSorted());
});
