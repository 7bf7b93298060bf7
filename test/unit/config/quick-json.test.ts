import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJsonQuickly } from '../../../src/config/quick-json.ts';
import { GAVE_UP } from '../../../src/config/quick-yaml-flow.ts';
import { expectSame } from './yaml-parser.ts';

const isSame = (source: string) => expectSame(readJsonQuickly, source);

const CLIENTS = [
  {
    client_id: 'a',
    client_secrets: [{ hash: 'sha256:ab', expires_at: '2027-01-01' }],
    client_name: 'The "first": one, {so} to [say] \\ #1',
    redirect_uris: ['https://a.example/cb?x=1&y=%20'],
    require_pkce: true,
  },
  { client_id: 'b', rate_limits: { token: '10/1m' }, n: [1, 0, null, false, '', ' ', '---', '- a', '&a'] },
];
const TEXTS = [
  JSON.stringify(CLIENTS),
  JSON.stringify({ $schema: './postern.schema.json', clients: CLIENTS }, undefined, 2),
  '{"a" : -0, "b": 1e3, "c": -17}\n',
];

describe('the quick reader of JSON', () => {
  it('reads what the YAML parser reads', () => {
    expect(TEXTS.map(isSame)).toEqual(TEXTS.map(() => true));
  });

  it.each([
    ['a key twice', '{"a": 1, "a": 2}'],
    ['a key twice, written differently', '{"a": 1, "\\u0061": 2}'],
    ['a key twice, far down', '[{"a": {"b": [{"c": 1, "d": 2, "c": 1}]}}]'],
    ['a key twice, beside a text that looks like one', '{"a": "\\":", "a": 2}'],
    ['__proto__', '{"__proto__": 1}'],
    ['constructor', '{"constructor": 1}'],
    ['a key that YAML reads otherwise', '{"<<": {"a": 1}}'],
    ['a fraction', '{"a": 1.5}'],
    ['a number beyond what is exact', '{"a": 12345678901234567890}'],
    ['a tab', '{\t"a": 1}'],
    ['another alphabet', '{"a": "é"}'],
    ['a comment', '{"a": 1} # why'],
    ['a comma too many', '{"a": 1,}'],
    ['text without quotes', '{"a": b}'],
    ['deep nesting', `${'['.repeat(50)}${']'.repeat(50)}`],
    ['nothing', ''],
  ])('leaves %s to the YAML parser', (_what, source) => {
    expect(readJsonQuickly(source)).toBe(GAVE_UP);
  });

  it('never reads a text otherwise than the YAML parser, whatever is in it', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom('"', '\\', ':', ' ', 'a', '{', ',', '\n', '-', '#', "'") }),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', 'client_id'), text), tie('tree'), { maxKeys: 4 }),
      ),
    }));
    let read = 0;
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 1, 2), (value, indent) => {
        if (isSame(JSON.stringify(value, undefined, indent))) read += 1;
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(500);
  });

  it(
    'never reads a text otherwise than the YAML parser, however it was spoiled',
    { timeout: 120_000 },
    () => {
      const pieces = [
        ' ',
        '\n',
        '\t',
        '"',
        '\\',
        ':',
        ',',
        '[',
        ']',
        '{',
        '}',
        '-',
        '#',
        'a',
        '0',
        'null',
        '"a":1,',
        '.',
        'e',
      ];
      const at = fc.double({ min: 0, max: 1, noNaN: true });
      const change = fc.record({
        at,
        remove: fc.integer({ min: 0, max: 3 }),
        insert: fc.constantFrom('', ...pieces),
      });
      const spoiled = fc.tuple(
        fc.constantFrom(...TEXTS.slice(0, 2)),
        fc.array(change, { minLength: 1, maxLength: 3 }),
      );
      let read = 0;
      fc.assert(
        fc.property(spoiled, ([text, changes]) => {
          let source = text;
          for (const { at: place, remove, insert } of changes) {
            const index = Math.floor(place * source.length);
            source = source.slice(0, index) + insert + source.slice(index + remove);
          }
          if (isSame(source)) read += 1;
        }),
        { numRuns: 3000 },
      );
      // 99 to 132 of them in six runs; enough that the quick reader was really asked.
      expect(read).toBeGreaterThan(30);
    },
  );
});
