// The values that quick-yaml.ts reads on one line: text, numbers, [lists] and {maps}. Owns which of them are certain.

/** Not read: left to the real parser. */
export const GAVE_UP = Symbol('gave up');

export function giveUp(): never {
  // Caught in quick-yaml.ts, and nowhere else: no error, so no stack is made.
  // oxlint-disable-next-line typescript/only-throw-error
  throw GAVE_UP;
}

const DEEPEST = 5;

/** The value that `text` is, all of it. */
export function flowValue(text: string): unknown {
  const [first] = text;
  if (first !== '[' && first !== '{' && first !== '"' && first !== "'") return scalar(text);
  const cursor = { text, at: 0 };
  const value = valueAt(cursor, 0);
  return cursor.at === text.length ? value : giveUp();
}

type Cursor = { readonly text: string; at: number };

function valueAt(cursor: Cursor, depth: number): unknown {
  if (depth > DEEPEST) giveUp();
  const first = cursor.text[cursor.at];
  if (first === '[') return listAt(cursor, depth);
  if (first === '{') return mapAt(cursor, depth);
  return first === '"' || first === "'" ? quotedAt(cursor) : scalar(plainAt(cursor));
}

function listAt(cursor: Cursor, depth: number): unknown[] {
  const items: unknown[] = [];
  for (const _ of elements(cursor, ']')) items.push(valueAt(cursor, depth + 1));
  return items;
}

function mapAt(cursor: Cursor, depth: number): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (const _ of elements(cursor, '}')) {
    const [whole, key] = match(cursor, /([A-Za-z][A-Za-z0-9_-]*): +/y) ?? giveUp();
    if (key === undefined || /^(true|false|null)$/i.test(key)) giveUp();
    if (Object.hasOwn(map, key) || key in Object.prototype) giveUp();
    cursor.at += whole.length;
    map[key] = valueAt(cursor, depth + 1);
  }
  return map;
}

/** Stops before each element, and ends behind `close`. */
function* elements(cursor: Cursor, close: ']' | '}'): Generator<void> {
  cursor.at += 1;
  skipSpaces(cursor);
  if (cursor.text[cursor.at] === close) {
    cursor.at += 1;
    return;
  }
  for (;;) {
    yield;
    skipSpaces(cursor);
    const mark = cursor.text[cursor.at];
    cursor.at += 1;
    if (mark === close) return;
    if (mark !== ',') giveUp();
    skipSpaces(cursor);
  }
}

function skipSpaces(cursor: Cursor): void {
  while (cursor.text[cursor.at] === ' ') cursor.at += 1;
}

/** Without escapes: a text that needs some is for the real parser. */
function quotedAt(cursor: Cursor): string {
  const [whole, double, single] = match(cursor, /"([^"\\]*)"(?!")|'([^']*)'(?!')/y) ?? giveUp();
  cursor.at += whole.length;
  // Behind a quoted text a colon would make it a key.
  return /^ *(?:$|[,\]}])/.test(cursor.text.slice(cursor.at, cursor.at + 60))
    ? (double ?? single ?? '')
    : giveUp();
}

function plainAt(cursor: Cursor): string {
  const [whole] = match(cursor, /[^,[\]{}"'#]+/y) ?? giveUp();
  cursor.at += whole.length;
  return whole.trimEnd();
}

function match(cursor: Cursor, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = cursor.at;
  return pattern.exec(cursor.text);
}

/** Begins like a word or a path, and has nothing in it that YAML gives a meaning to. */
const WORDS = /^[A-Za-z/$][A-Za-z0-9 _./:$+@=()~;&?%,-]*$/;
/** What YAML could read as a number is only certain when it is one, or when it is one of our own notations. */
const NUMBER = /^(0|[1-9]\d{0,14})$/;
const NOTATION = /^(\d+[smhd]|\d+\/\d+[smhd]|\d{4}-\d{2}-\d{2}|\d{1,3}(\.\d{1,3}){3}(\/\d+)?)$/;

function scalar(text: string): unknown {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (NUMBER.test(text)) return Number(text);
  if (NOTATION.test(text)) return text;
  // A colon at the end or before a space makes a key.
  const isText = WORDS.test(text) && !/:( |$)/.test(text) && !/^(true|false|null)$/i.test(text);
  return isText ? text : giveUp();
}
