// How many processes a file may ask for.
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { workers } from '../../../src/features/workers/feature.ts';

const { workers: schema } = workers.service;

it('auto is one for each core, and none is said: one', () => {
  expect(schema.parse('auto')).toBe(availableParallelism());
  expect(schema.parse(undefined)).toBe(1);
});

it.each([
  [0, 'must be at least 1'],
  [1000, 'must be at most 128'],
  ['all', 'must be a whole number from 1 to 128, or auto'],
])('%s is refused', (count, message) => {
  expect(schema.safeParse(count).error?.issues[0]?.message).toBe(message);
});
