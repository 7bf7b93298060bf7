import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GAVE_UP } from '../../../src/config/quick-yaml-flow.ts';
import { readQuickly } from '../../../src/config/quick-yaml.ts';
import { client, machine, PUBLIC, RESOURCES } from './config-files.ts';
import { expectSame } from './yaml-parser.ts';

const isSame = (source: string) => expectSame(readQuickly, source);

const TEXTS = [
  readFileSync('config/postern.yaml', 'utf8'),
  readFileSync('config/users.yaml', 'utf8'),
  `${PUBLIC}${RESOURCES}clients:\n${client()}${machine()}`,
  '# ü\na: b # c\nd: "ef" # g\nh: [i, \'j\'] # k\nl.m: n (o), p? q%\n',
  '- client_id: a\n  client_secrets:\n  - { hash: "sha256:ab", expires_at: 2027-01-01 }\n  -\n    value: env:X # why\n  redirect_uris: [https://a.example/cb?x=1, \'https://b.example\']\n- {client_id: b, n: {m: [1, [2], {}]}}\n',
];

describe('the quick reader', () => {
  it('reads what the real parser reads, and most of what is usual', () => {
    expect(TEXTS.map(isSame)).toEqual(TEXTS.map(() => true));
  });

  it.each([
    ['text over several lines', 'a: b\n  c\n'],
    ['a block text', 'a: |\n  b\n'],
    ['an anchor', 'a: &x b\n'],
    ['an alias', 'a: *x\n'],
    ['a tag', 'a: !!str 1\n'],
    ['a key twice', 'a: 1\na: 2\n'],
    ['a key twice, in one line', 'a: {b: 1, b: 2}\n'],
    ['__proto__', '__proto__: 1\n'],
    ['constructor', 'constructor: 1\n'],
    ['a number with a leading zero', 'a: 012\n'],
    ['a hexadecimal number', 'a: 0x10\n'],
    ['a fraction', 'a: 1.5\n'],
    ['an exponent', 'a: 1e3\n'],
    ['nothing', 'a:\n'],
    ['null', 'a: null\n'],
    ['a tilde', 'a: ~\n'],
    ['True', 'a: True\n'],
    ['an escape', 'a: "\\u0041"\n'],
    ['a doubled quote', "a: 'it''s'\n"],
    ['a second document', 'a: 1\n---\na: 2\n'],
    ['a directive', '%YAML 1.1\n---\na: yes\n'],
    ['a tab', 'a:\tb\n'],
    ['a return', 'a: b\r\n'],
    ['another alphabet', 'a: é\n'],
    ['a colon too many', 'a: b: c\n'],
    ['an indentation that is none', 'a:\n    b: 1\n  c: 2\n'],
    ['a comma too many', 'a: [b, ]\n'],
    ['a list in a list, in one line', '- - a\n'],
    ['a map in a list, without braces', 'a: [b: 1]\n'],
    ['a merge key', 'a:\n  <<: b\n'],
    ['a key that is no text', '1: a\n'],
    ['a # without a space', 'a: b#c\n'],
    ['deep nesting', '['.repeat(100)],
  ])('leaves %s to the real parser', (_what, source) => {
    expect(readQuickly(source)).toBe(GAVE_UP);
  });

  it(
    'never reads a text otherwise than the real parser, however it was spoiled',
    { timeout: 120_000 },
    () => {
      const pieces = [
        ' ',
        '  ',
        '\n',
        '- ',
        '-',
        ':',
        ': ',
        '#',
        ' #',
        '"',
        "'",
        '[',
        ']',
        '{',
        '}',
        ',',
        '|',
        '>',
        '&a',
        '*a',
        '!',
        '?',
        '%',
        '@',
        '`',
        '~',
        '0',
        '1',
        '.',
        'e',
        '_',
        'null',
        'true',
        'x',
        '---',
        '\\',
        '<<',
        '=',
        '$',
      ];
      const spoiling = fc.record({
        text: fc.constantFrom(...TEXTS.map((text) => text.slice(0, 1500))),
        cut: fc.double({ min: 0, max: 1, noNaN: true }),
        changes: fc.array(
          fc.record({
            at: fc.double({ min: 0, max: 1, noNaN: true }),
            remove: fc.integer({ min: 0, max: 4 }),
            insert: fc.constantFrom('', ...pieces),
          }),
          { minLength: 1, maxLength: 4 },
        ),
      });
      let read = 0;
      fc.assert(
        fc.property(spoiling, ({ text, cut, changes }) => {
          // A window: a short text, so that each change has a chance to matter.
          const lines = text.split('\n');
          const start = Math.floor(cut * lines.length);
          let source = lines.slice(start, start + 8).join('\n');
          for (const { at, remove, insert } of changes) {
            const index = Math.floor(at * source.length);
            source = source.slice(0, index) + insert + source.slice(index + remove);
          }
          if (isSame(source)) read += 1;
        }),
        { numRuns: 5000 },
      );
      // Otherwise this would prove nothing.
      expect(read).toBeGreaterThan(200);
    },
  );

  it('agrees on texts that nobody would write', { timeout: 120_000 }, () => {
    const token = fc.constantFrom(
      'a',
      'b:',
      'c: ',
      '- ',
      '-',
      ' ',
      '  ',
      '\n',
      '\n  ',
      '[',
      ']',
      '{',
      '}',
      ', ',
      '"x"',
      "'y'",
      '#',
      ' # z',
      '1',
      '0',
      'true',
      ':',
      'k: v',
      '\n- ',
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 14 }), (tokens) => {
        isSame(tokens.join(''));
      }),
      { numRuns: 5000 },
    );
  });
});
