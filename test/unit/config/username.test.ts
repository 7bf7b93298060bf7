import { assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalUsername } from '../../../src/config/text.ts';

describe('a username', () => {
  const TYPED = ['alice', 'Alice', ' alice', 'alice\t', 'ALICE', 'ａｌｉｃｅ', 'Ａlice', '\u00a0alice'];
  it.each(TYPED)('typed as "%s" is alice', (typed) => {
    expect(canonicalUsername(typed)).toBe('alice');
  });

  it.each([
    ['а Cyrillic a', 'аlice'],
    ['a space inside', 'al ice'],
    ['an accent', 'álice'],
  ])('with %s is somebody else', (_case, typed) => {
    expect(canonicalUsername(typed)).not.toBe('alice');
  });

  it.each([
    ['Zoe\u0308', 'Zo\u00eb'],
    ['J\u030can', '\u01f0an'],
    ['H\u0331', '\u1e96'],
  ])('is the same composed and decomposed: %j and %j', (decomposed, composed) => {
    expect(canonicalUsername(decomposed)).toBe(canonicalUsername(composed));
  });

  it('stays what it is when it is made canonical again', () => {
    assert(
      property(string({ unit: 'grapheme' }), (typed) => {
        const once = canonicalUsername(typed);
        expect(canonicalUsername(once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });
});
