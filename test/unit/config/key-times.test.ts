import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timingProblems, toTiming } from '../../../src/config/key-times.ts';
import { TIMES } from '../keys/keys.fixture.ts';

describe('the times of a signing key', () => {
  it('follow from the configuration', () => {
    expect(toTiming(TIMES)).toEqual({
      cache: 3600,
      propagation: 15,
      skew: 120,
      tokenLife: 3600,
      publishToActivate: 3735,
      retireToRemove: 7320,
      rotateEvery: 2_592_000,
      publishAhead: 86_400,
    });
  });

  it('refuse to let a key sign before verifiers can know it, with the sum', () => {
    expect(timingProblems({ ...TIMES, publishAhead: 3734 })).toEqual([
      expect.stringMatching(
        /publish_ahead is 3734s.*3735s = 3600s verifier cache \+ 15s propagation \+ 120s clock skew/,
      ),
    ]);
    expect(timingProblems({ ...TIMES, publishAhead: 3735 })).toEqual([]);
  });

  it('KY-06: refuse tokens that would outlive their key, with the sum', () => {
    const rotateEvery = 86_400 + 3600 + 3600 + 120;
    expect(timingProblems({ ...TIMES, rotateEvery })).toEqual([
      expect.stringMatching(
        /rotate_every.*86400s publish_ahead \+ 3600s longest token \+ 3600s verifier cache \+ 120s/,
      ),
    ]);
    expect(timingProblems({ ...TIMES, rotateEvery: rotateEvery + 1 })).toEqual([]);
    expect(timingProblems({ ...TIMES, accessToken: 30 * 86_400 })).toHaveLength(1);
  });

  it('keep every key longer than its last token, whenever there is no problem', () => {
    const seconds = fc.integer({ min: 1, max: 100 * 86_400 });
    fc.assert(
      fc.property(
        fc.record({ accessToken: seconds, rotateEvery: seconds, publishAhead: seconds }),
        (input) => {
          fc.pre(timingProblems(input).length === 0);
          const timing = toTiming(input);
          expect(timing.tokenLife).toBeLessThanOrEqual(timing.retireToRemove - timing.skew);
          expect(input.publishAhead).toBeGreaterThanOrEqual(timing.cache + timing.propagation + timing.skew);
          expect(input.rotateEvery).toBeGreaterThan(timing.retireToRemove + input.publishAhead);
        },
      ),
    );
  });
});
