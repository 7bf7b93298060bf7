// The one printer of lists: `-o table|wide|json|csv|name`. JSON and CSV are written row by row and a table page by page, so that a long
// list needs little memory. Only a terminal gets colours and columns that are cut to its width; `wide` is never cut.
import { styleText } from 'node:util';
import { type Command, Option } from 'commander';
import { escaped } from '../config/text.ts';
import { type CliIo, printJson, toCell } from './io.ts';

const FORMATS = ['table', 'wide', 'json', 'csv', 'name'] as const;

export type ListOptions = Readonly<{
  json?: boolean | undefined;
  output?: (typeof FORMATS)[number] | undefined;
  headers?: boolean | undefined;
}>;

type Key<Row> = keyof Row & string;

type Column<Row> = Readonly<{
  key: Key<Row>;
  /** The heading in tables. Default: the key. */
  heading?: string;
  /** Shows "2 hours ago", or the exact time in a wide table. */
  isTime?: boolean;
  /** Colours of single texts on a terminal. */
  colours?: Readonly<Record<string, 'green' | 'yellow' | 'red'>>;
  /** Returns what a table shows. Default: the value. */
  show?: (row: Row) => unknown;
}>;

export type List<Row> = Readonly<{
  /** The first one is the name of a row, for `-o name`. */
  columns: readonly (Key<Row> | Column<Row>)[];
  /** Extra columns of wide tables and CSV. */
  wide?: readonly (Key<Row> | Column<Row>)[];
  rows: Iterable<Row> | AsyncIterable<Row>;
  /** The value for JSON. Default: the rows with all their members. */
  json?: unknown;
  /** A message instead of a table without rows. */
  none?: string;
}>;

export const addListOptions = (verb: Command): Command =>
  verb
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(FORMATS)
        .default('table')
        .conflicts('json'),
    )
    .option('--no-headers', 'omit the headings of a table or of CSV');

export async function printList<Row extends object>(
  io: CliIo,
  { json = false, output = 'table', headers = true }: ListOptions,
  list: List<Row>,
): Promise<void> {
  if (json || output === 'json')
    return list.json === undefined ? printRows(io, list) : printJson(io, list.json);
  if (output === 'csv') return printCsv(io, list, headers);
  if (output === 'name') return printNames(io, list);
  return printTable(io, list, { isWide: output === 'wide', headers });
}

const columnsOf = <Row>({ columns, wide = [] }: List<Row>, isWide = true): readonly Column<Row>[] =>
  [...columns, ...(isWide ? wide : [])].map((one) => (typeof one === 'string' ? { key: one } : one));

/** Prints the same array as JSON.stringify, row by row. */
async function printRows<Row>({ stdout }: CliIo, { rows }: List<Row>): Promise<void> {
  let before = '[';
  for await (const row of rows) {
    const text = JSON.stringify(row, undefined, 2).replaceAll('\n', '\n  ');
    stdout.write(`${before}\n  ${text}`);
    before = ',';
  }
  stdout.write(before === '[' ? '[]\n' : '\n]\n');
}

/** RFC 4180, with the keys of JSON as its header. */
async function printCsv<Row>({ stdout }: CliIo, list: List<Row>, headers: boolean): Promise<void> {
  const keys = columnsOf(list).map(({ key }) => key);
  const write = (values: readonly unknown[]) => stdout.write(`${values.map(toCsv).join(',')}\r\n`);
  if (headers) write(keys);
  for await (const row of list.rows) write(keys.map((key) => row[key]));
}

// A spreadsheet would run such a cell as a formula. A ' in the text itself gets another one. Base64url IDs, which may begin with -,
// can't call anything and don't change.
const FORMULA = /^[\s']*(?:[=@＝＋－＠]|[+-](?![\w-]*$))/;

/** Reverses the `'` that `toCsv` adds to such a cell. */
export const fromCsv = (cell: string) => (cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell);

function toCsv(value: unknown): string {
  const plain = toPlain(value ?? '').replaceAll(/\p{Cc}/gu, (one) => escaped(one));
  const safe = typeof value !== 'number' && FORMULA.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function toPlain(value: unknown): string {
  if (Array.isArray(value)) return value.map(toPlain).join(';');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** One name per line, for xargs. */
async function printNames<Row>({ stdout }: CliIo, list: List<Row>): Promise<void> {
  const [name] = columnsOf(list);
  for await (const row of list.rows) stdout.write(`${escaped(toPlain(name && row[name.key]))}\n`);
}

type Style = Parameters<typeof styleText>[0];
type Cell = Readonly<{ text: string; style?: Style | undefined }>;
type Table = Readonly<{ isWide: boolean; headers: boolean }>;

const PAGE = 500;

async function printTable<Row>(io: CliIo, list: List<Row>, { isWide, headers }: Table): Promise<void> {
  const columns = columnsOf(list, isWide);
  const { stdout } = io;
  const limit = stdout.isTTY === true && !isWide ? stdout.columns || 80 : Infinity;
  const headings = columns.map(({ key, heading = key.toUpperCase().replaceAll('_', ' ') }): Cell => {
    return { text: heading, style: 'bold' };
  });
  let page: (readonly Cell[])[] = headers ? [headings] : [];
  let widths = columns.map(() => 0);
  const write = () => {
    widths = widthsOf(page, widths, limit);
    for (const cells of page) stdout.write(`${toLine(stdout, cells, widths)}\n`);
    page = [];
  };
  let isEmpty = true;
  for await (const row of list.rows) {
    isEmpty = false;
    page.push(columns.map((column) => toTableCell(row, column, isWide)));
    if (page.length >= PAGE) write();
  }
  if (!isEmpty) write();
  else if (list.none !== undefined) io.stderr.write(`${list.none}\n`);
}

function toTableCell<Row>(row: Row, { key, isTime, colours, show }: Column<Row>, isWide: boolean): Cell {
  const value = show ? show(row) : row[key];
  const text = toCell(isTime === true && !isWide ? toAgo(value) : value);
  return { text, style: colours?.[text] };
}

function toLine(stdout: CliIo['stdout'], cells: readonly Cell[], widths: readonly number[]): string {
  const texts = cells.map(({ text, style }, at) => {
    const width = widths[at] ?? 0;
    const shown = cut(text, width);
    const hasStyle = style !== undefined && stdout.hasColors?.() === true;
    const painted = hasStyle ? styleText(style, shown, { validateStream: false }) : shown;
    return painted + ' '.repeat(Math.max(0, width - shown.length));
  });
  return texts.join('  ').trimEnd();
}

const UNITS = { year: 31_536_000, month: 2_592_000, day: 86_400, hour: 3600, minute: 60, second: 1 };

function toAgo(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const seconds = (Date.parse(value) - Date.now()) / 1000;
  const found = Object.entries(UNITS).find(([, size]) => Math.abs(seconds) >= size);
  const [unit, size] = (found ?? ['second', 1]) as [Intl.RelativeTimeFormatUnit, number];
  return new Intl.RelativeTimeFormat('en').format(Math.round(seconds / size), unit);
}

const SHORTEST = 4;

/** The width of each column that its cells need, as on the page before at least. Narrows the widest until a line fits. */
function widthsOf(page: readonly (readonly Cell[])[], before: readonly number[], limit: number): number[] {
  const widths = before.map((width, at) =>
    Math.max(width, ...page.map((cells) => cells[at]?.text.length ?? 0)),
  );
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - limit;
  for (; over > 0 && Math.max(...widths) > SHORTEST; over--) {
    const widest = widths.lastIndexOf(Math.max(...widths));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

const cut = (text: string, width: number) =>
  text.length <= width ? text : `${text.slice(0, width - 1).toWellFormed()}…`;
