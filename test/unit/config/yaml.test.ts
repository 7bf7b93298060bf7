import { array, assert, constantFrom, pre, property, tuple } from 'fast-check';
import { expect, it } from 'vitest';
import { locateIn, parseYaml } from '../../../src/config/yaml.ts';

const HEADS = ['', '# c\n', '\t# c\n', 'a:\n', 'a: # c\r\n', 'a:#c\n', 'a:\n\n # c\n', 'a:\n\t\n', 'null:\n'];
const STARTS = ['- ', '- ', '- ', '-\n', '-\t', '-\u00a0', '  ', '    ', ' ', '', '# ', '\t'];
const WORDS =
  `a | > |2 |+ "x y" 'x y' [a, b] {a: 1, } &x *x !!str <<: - ? : a: b:\u2028 # c ... --- __proto__: 1: \r \0
  "a\u2028- \ufeff \t`.split(/[ \n]+/);
const ENDS = ['\n', '\n', '\n', '\r\n', '\n\n', '\r', '\n  \n', ''];
const lines = array(
  tuple(constantFrom(...STARTS), array(constantFrom(...WORDS), { maxLength: 3 }), constantFrom(...ENDS)),
  { minLength: 1, maxLength: 9 },
);

function readIn(source: string, partLength: number) {
  const yaml = parseYaml(source, partLength);
  return yaml.faults.length > 0 ? 'faults' : yaml;
}

it('a list that is read in parts has the values that it has as a whole', () => {
  assert(
    property(constantFrom(...HEADS), constantFrom('', '  '), lines, (head, indent, all) => {
      const source = head + all.map(([start, words, end]) => indent + start + words.join(' ') + end).join('');
      // After an empty item, an empty line and a comment, the parser itself joins an indented text and the items behind it.
      pre(!/-\s*\n\s*\n#/.test(source));
      expect(readIn(source, 3)).toEqual(readIn(source, Infinity));
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['a line separator in a text', 'a:\n  - "b\u2028  - c"\n'],
  ['a key without text', 'null:\n- a\n'],
  ['__proto__', '__proto__:\n- a\n'],
  ['a mark that is part of a text', '- a\n- b\n-\u00a0c\n'],
  ['a key that is text', 'a:#c\n- b\n'],
  ['another key after the list', 'a:\n- b\nc: d\n'],
  ['another key after an indented list', 'a:\n  - b\nc:\n  - d\n'],
  ['a text over several lines', '- "a\n- b"\n- c\n'],
  ['a second document', 'a:\n- b\n---\na:\n- c\n'],
])('%s is the same in parts', (_, source) => {
  expect(readIn(source, 4)).toEqual(readIn(source, Infinity));
});

it('many empty lines take no time', () => {
  expect(parseYaml(`- a${'\n'.repeat(300_000)}`)).toMatchObject({ content: ['a'] });
});

it('locating every value of a large map takes no time', () => {
  const keys = Array.from({ length: 60_000 }, (_, at) => `k${at}`);
  const locate = locateIn(`{ ${keys.join(': 1,\n')}: 1 }`);
  expect(keys.map((key) => locate([key], 'value').line)).toEqual(keys.map((_, at) => at + 1));
});
