import { describe, expect, it } from 'vitest';
import { keyProblems } from '../../../src/keys/readiness.ts';
import type { RotationStatus } from '../../../src/keys/rotation.ts';
import { SECOND, START } from './keys.fixture.ts';

const FINE = {
  generation: 3,
  storedGeneration: 3,
  readAt: START,
  confirmedAt: START,
  maySign: true,
  problem: undefined,
};
const status = (changes: Partial<RotationStatus> = {}): RotationStatus => ({ ...FINE, ...changes });

describe('the readiness of a node', () => {
  it('is given 15 s to follow a new generation', () => {
    const behind = status({ storedGeneration: 4, readAt: START + 16 * SECOND });
    expect(keyProblems(behind, START + 15 * SECOND)).toEqual([]);
    expect(keyProblems(behind, START + 16 * SECOND)).toEqual([
      'this node serves generation 3 of the key ring, the store has 4',
    ]);
  });

  it('ends when the ring could not be read for longer than that', () => {
    expect(keyProblems(status(), START + 15 * SECOND)).toEqual([]);
    expect(keyProblems(status(), START + 16 * SECOND)).toEqual(['the key ring could not be read for 16 s']);
  });

  it('ends when nothing may be signed', () => {
    expect(keyProblems(status({ maySign: false }), START)).toEqual([
      'this node signs nothing until its keys are confirmed again',
    ]);
  });
});
