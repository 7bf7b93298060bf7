import { describe, expect, it } from 'vitest';
import { clip } from '../../../src/observability/log.ts';

describe('text from outside in a log line', () => {
  it.each([
    ['plain', 'plain'],
    ['a\r\n{"level":"info"}', 'a??{"level":"info"}'],
    ['\u001b[31mred\u001b[0m', '?[31mred?[0m'],
    ['a\u0000b\u007fc\u0085d', 'a?b?c?d'],
    ['line\u2028sep\u2029', 'line?sep?'],
    ['é 漢字 😀', 'é 漢字 😀'],
  ])('%j becomes %j', (text, expected) => {
    expect(clip(text)).toBe(expected);
  });

  it('is cut at 200 characters, or where the caller says', () => {
    expect(clip('a'.repeat(5000))).toBe('a'.repeat(200));
    expect(clip('abcdef', 3)).toBe('abc');
  });
});
