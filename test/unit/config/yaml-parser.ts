// What the YAML parser makes of a text: the reference for the quick readers. Owns no test.
import { expect } from 'vitest';
import { parseDocument } from 'yaml';
import { toPlain, type SyntaxFault } from '../../../src/config/plain.ts';
import { GAVE_UP } from '../../../src/config/quick-yaml-flow.ts';

/** Undefined when it refuses. */
function readFully(source: string): { readonly content: unknown } | undefined {
  const yaml = parseDocument(source, { prettyErrors: false, uniqueKeys: false });
  const faults: SyntaxFault[] = [];
  const content = toPlain(yaml.contents, faults);
  return yaml.errors.length + yaml.warnings.length + faults.length > 0 ? undefined : { content };
}

/** Either `read` gives up, which is false, or it says exactly what the YAML parser says. */
export function expectSame(read: (source: string) => unknown, source: string): boolean {
  const content = read(source);
  if (content === GAVE_UP) return false;
  expect({ content }, JSON.stringify(source)).toEqual(readFully(source));
  return true;
}
