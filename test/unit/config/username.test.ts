import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalUsername } from '../../../src/config/username.ts';

describe('a username', () => {
  it.each(['alice', 'Alice', ' alice', 'alice\t', 'ALICE', 'ａｌｉｃｅ', 'Ａlice', '\u00a0alice'])(
    'typed as "%s" is alice',
    (typed) => {
      expect(canonicalUsername(typed)).toBe('alice');
    },
  );

  it.each([
    ['а Cyrillic a', 'аlice'],
    ['a space inside', 'al ice'],
    ['an accent', 'álice'],
  ])('with %s is somebody else', (_case, typed) => {
    expect(canonicalUsername(typed)).not.toBe('alice');
  });

  it('is the same composed and decomposed', () => {
    expect(canonicalUsername('Zoe\u0308')).toBe(canonicalUsername('Zo\u00eb'));
  });

  it('stays what it is when it is made canonical again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (typed) => {
        const once = canonicalUsername(typed);
        expect(canonicalUsername(once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });
});
