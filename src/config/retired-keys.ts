// Keys of older versions, which are named in a notice and have no effect.
import type { SourceDocument } from './document.ts';
import { isRecord } from './parse-fields.ts';
import type { Path } from './problems.ts';

const RETIRED = [['refresh_token_grace'], ['features', 'claims_parameter']];

const member = (node: unknown, key: string) => (isRecord(node) ? node[key] : undefined);

export function withoutRetired(document: SourceDocument) {
  const { content, file } = document;
  const found = RETIRED.filter((path) => path.reduce(member, content) !== undefined);
  const lineOf = (path: Path) => document.locate(path, 'key').line;
  const notices = found.map(
    (path) => `${file}:${lineOf(path)} ${path.join('.')} has no effect any more: remove it.`,
  );
  return { content: found.reduce(withoutKey, content), notices };
}

function withoutKey(node: unknown, [key = '', ...inner]: readonly string[]): unknown {
  if (!isRecord(node)) return node;
  const { [key]: value, ...others } = node;
  return inner.length === 0 ? others : { ...node, [key]: withoutKey(value, inner) };
}
