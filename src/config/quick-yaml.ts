// Reads the plain part of YAML that configurations are made of, ten times as fast as the whole language: thousands of
// clients are read at every start and change. It gives up at the first thing that it doesn't know for certain, and then
// the real parser decides; so it never says what is wrong, and never reads a text otherwise than that parser would.
import { flowValue, GAVE_UP, giveUp } from './quick-yaml-flow.ts';

const DEEPEST = 10;

/** The data of `source`, or GAVE_UP. */
export function readQuickly(source: string): unknown {
  try {
    const reader = new Reader(toLines(source));
    return reader.readAll();
  } catch (error) {
    if (error === GAVE_UP) return GAVE_UP;
    throw error;
  }
}

type Line = { indent: number; text: string };

/** Lines that say something. */
function toLines(source: string): Line[] {
  const lines: Line[] = [];
  for (const line of source.split('\n')) {
    if (COMMENT.test(line)) continue;
    // Tabs, returns, other control characters and what isn't ASCII have rules of their own.
    if (!PRINTABLE.test(line)) giveUp();
    const text = line.trim();
    if (text !== '') lines.push({ indent: line.length - line.trimStart().length, text });
  }
  return lines;
}

const COMMENT = /^ *#[^\p{Cc}\u2028\u2029\ufeff]*$/u;
const PRINTABLE = /^[\x20-\x7e]*$/;
const ITEM = /^- +(?=\S)/;
const ENTRY = /^([A-Za-z][A-Za-z0-9_.-]*):(?: +(\S.*))?$/;
/** Keys that YAML reads as something else than text. */
const NO_TEXT = /^(true|false|null)$/i;

class Reader {
  readonly #lines: readonly Line[];
  #at = 0;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  readAll(): unknown {
    const [first] = this.#lines;
    if (first === undefined) return null;
    const value = this.#block(first.indent, 0);
    return this.#at === this.#lines.length ? value : giveUp();
  }

  /** The list or map that begins at this line, which is indented by `indent`. */
  #block(indent: number, depth: number): unknown {
    if (depth > DEEPEST) giveUp();
    return this.#isItem() ? this.#list(indent, depth) : this.#map(indent, depth);
  }

  #isItem(): boolean {
    const text = this.#lines[this.#at]?.text;
    return text === '-' || text?.startsWith('- ') === true;
  }

  #list(indent: number, depth: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.#next(indent); line !== undefined && this.#isItem(); line = this.#next(indent)) {
      const [mark] = ITEM.exec(line.text) ?? [];
      if (mark === undefined) {
        // A dash alone: what is indented below.
        this.#at += 1;
        items.push(this.#below(indent, depth));
        continue;
      }
      const rest = withoutComment(line.text.slice(mark.length));
      if (rest.startsWith('- ') || rest === '-') giveUp();
      if (ENTRY.test(rest)) {
        // A map that begins beside the dash: its keys stand where this one stands.
        line.indent += mark.length;
        line.text = rest;
        items.push(this.#map(line.indent, depth + 1));
      } else {
        this.#at += 1;
        items.push(flowValue(rest));
      }
    }
    return items;
  }

  #map(indent: number, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (let line = this.#next(indent); line !== undefined && !this.#isItem(); line = this.#next(indent)) {
      const [, key = giveUp(), value] = ENTRY.exec(withoutComment(line.text)) ?? giveUp();
      if (NO_TEXT.test(key) || Object.hasOwn(map, key) || key in Object.prototype) giveUp();
      this.#at += 1;
      map[key] = value === undefined ? this.#below(indent, depth, true) : flowValue(value);
    }
    return map;
  }

  /** The next line when it belongs to the block at `indent`; undefined when the block ends before it. */
  #next(indent: number): Line | undefined {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent < indent) return undefined;
    // Deeper than what went before: text that goes on over several lines.
    return line.indent === indent ? line : giveUp();
  }

  /** The block under a key or a dash. A list may stand as far left as its key. */
  #below(indent: number, depth: number, isUnderKey = false): unknown {
    const line = this.#lines[this.#at] ?? giveUp();
    const mayBegin = line.indent > indent || (isUnderKey && line.indent === indent && this.#isItem());
    return mayBegin ? this.#block(line.indent, depth + 1) : giveUp();
  }
}

/** Without a comment at the end. Gives up where the # may be part of a text. */
function withoutComment(text: string): string {
  const cut = text.search(/ +#/);
  if (cut === -1) return text;
  const before = text.slice(0, cut);
  return /^([^"']|"[^"\\]*"|'[^']*')*$/.test(before) ? before : giveUp();
}
