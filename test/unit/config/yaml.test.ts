import { array, assert, constantFrom, property, tuple } from 'fast-check';
import { expect, it } from 'vitest';
import type { Path } from '../../../src/config/problems.ts';
import { parseYaml } from '../../../src/config/yaml.ts';

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

function placesToTry(value: unknown, path: Path = []): Path[] {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const inner = entries.flatMap(([key, of]) => placesToTry(of, [...path, Array.isArray(value) ? +key : key]));
  return [path, [...path, 'none'], [...path, 99], ...inner];
}

function readIn(source: string, partLength: number) {
  const yaml = parseYaml(source, partLength);
  if ('faults' in yaml) return 'faults';
  const places = placesToTry(yaml.content).map((path) => [
    yaml.locate(path, 'key'),
    yaml.locate(path, 'value'),
  ]);
  return { content: yaml.content, isNull: yaml.isNull, places };
}

it('a list that is read in parts has the values and positions that it has as a whole', () => {
  assert(
    property(constantFrom(...HEADS), constantFrom('', '  '), lines, (head, indent, all) => {
      const source = head + all.map(([start, words, end]) => indent + start + words.join(' ') + end).join('');
      expect(readIn(source, 10)).toEqual(readIn(source, Infinity));
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
])('%s is the same in parts', (_, source) => {
  expect(readIn(source, 4)).toEqual(readIn(source, Infinity));
});

it('faults of several parts are all reported', () => {
  expect(parseYaml('- {\n- a\n- "b\n- c: 1\n  c: 2\n', 1)).toMatchObject({
    faults: expect.arrayContaining([expect.objectContaining({ line: 5, column: 3 })]) as unknown,
  });
});

it('many empty lines take no time', () => {
  expect(parseYaml(`- a${'\n'.repeat(300_000)}`)).toMatchObject({ content: ['a'] });
});
