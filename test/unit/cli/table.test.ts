import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type List, type ListOptions, printList } from '../../../src/cli/table.ts';

type Row = Readonly<{ name: string; groups?: readonly string[]; at?: string; status?: string }>;
type Screen = Readonly<{ isTTY?: boolean; columns?: number; hasColors?: () => boolean }>;

const COLUMNS: List<Row>['columns'] = [
  'name',
  { key: 'at', heading: 'LAST SIGN-IN', isTime: true },
  { key: 'status', colours: { ON: 'green' } },
];

async function rendered(rows: List<Row>['rows'], options: ListOptions = {}, screen: Screen = {}) {
  const written: string[] = [];
  const out = { write: (text: string) => written.push(text), ...screen };
  await printList({ stdin: process.stdin, stdout: out, stderr: out }, options, {
    columns: COLUMNS,
    wide: ['groups'],
    rows,
    none: 'None.',
  });
  return { text: written.join(''), writes: written.length };
}

async function* many(count: number): AsyncGenerator<Row> {
  for (let at = 0; at < count; at++) yield await Promise.resolve({ name: `user ${at}` });
}

const ROWS: readonly Row[] = [
  { name: 'anna', groups: ['a', 'b'], at: '1800-01-01T00:00:00.000Z', status: 'ON' },
  { name: 'bob' },
];
const TERMINAL = { isTTY: true, columns: 24, hasColors: () => true };

describe('a list', () => {
  it.each<[ListOptions, string]>([
    [{}, 'NAME  LAST SIGN-IN   STATUS\nanna  NNN years ago  ON\nbob   -              -\n'],
    [{ headers: false }, 'anna  NNN years ago  ON\nbob   -              -\n'],
    [
      { output: 'wide' },
      `NAME  LAST SIGN-IN              STATUS  GROUPS\nanna  1800-01-01T00:00:00.000Z  ON      a, b\nbob   -                         -       -\n`,
    ],
    [{ output: 'csv' }, 'name,at,status,groups\r\nanna,1800-01-01T00:00:00.000Z,ON,a;b\r\nbob,,,\r\n'],
    [{ output: 'csv', headers: false }, 'anna,1800-01-01T00:00:00.000Z,ON,a;b\r\nbob,,,\r\n'],
    [{ output: 'name' }, 'anna\nbob\n'],
    [{ output: 'json' }, `${JSON.stringify(ROWS, undefined, 2)}\n`],
    [{ json: true }, `${JSON.stringify(ROWS, undefined, 2)}\n`],
  ])('with %j', async (options, expected) => {
    expect((await rendered(ROWS, options)).text.replaceAll(/\d{3} years/g, 'NNN years')).toBe(expected);
  });

  it.each<[ListOptions, string]>([
    [{}, 'None.\n'],
    [{ output: 'csv' }, 'name,at,status,groups\r\n'],
    [{ output: 'name' }, ''],
    [{ json: true }, '[]\n'],
  ])('without rows, with %j', async (options, expected) => {
    expect((await rendered([], options)).text).toBe(expected);
  });

  it('is written while it is read', async () => {
    const { text, writes } = await rendered(many(2000), { json: true });
    expect(JSON.parse(text)).toHaveLength(2000);
    expect(writes).toBeGreaterThan(2000);
    expect((await rendered(many(2000), { output: 'csv' })).writes).toBe(2001);
    const table = await rendered(many(2000));
    expect(table.text.split('\n')).toHaveLength(2002);
  });

  it('lets no value move the cursor, become a formula or break a row', async () => {
    const names = ['\u001b[2J', 'a,"b"\r\nc', '=1+1', ' @sum', '-2+cmd|x', '+49 1', '-bZ_9', '＝1', 'é ok'];
    const rows = names.map((name) => ({ name }));
    for (const output of ['table', 'wide', 'csv', 'name'] as const)
      expect((await rendered(rows, { output })).text).not.toMatch(/(?!\r?\n)\p{Cc}/u);
    const { text } = await rendered(rows, { output: 'csv', headers: false });
    expect(text.split('\r\n').map((line) => line.replace(/,,,$/, ''))).toEqual([
      String.raw`\u001b[2J`,
      String.raw`"a,""b""\u000d\u000ac"`,
      "'=1+1",
      "' @sum",
      "'-2+cmd|x",
      "'+49 1",
      '-bZ_9',
      "'＝1",
      'é ok',
      '',
    ]);
  });

  it('is cut and coloured on a terminal alone', async () => {
    const rows = [{ name: 'a name of many letters', status: 'ON' }, ROWS[0]] as readonly Row[];
    const { text } = await rendered(rows, {}, TERMINAL);
    expect(text).toContain('\u001b[32mON\u001b[39m');
    expect(text).toContain('\u001b[1mNAME\u001b[22m');
    expect(
      stripVTControlCharacters(text)
        .replaceAll(/\d{3} /g, 'NNN ')
        .split('\n'),
    ).toEqual(['NAME     LAST S…  STATUS', 'a name…  -        ON', 'anna     NNN ye…  ON', '']);
    expect((await rendered(rows, {}, { ...TERMINAL, hasColors: () => false })).text).not.toContain('\u001b');
    expect((await rendered(rows)).text).not.toMatch(/[\p{Cc}…](?<!\n)/u);
    expect((await rendered(rows, { output: 'wide' }, TERMINAL)).text).not.toContain('…');
  });
});
