// A small HTML check for tests: finds errors that a browser would silently repair. Covers only the HTML that our pages use.

const VOID = new Set(['meta', 'link', 'input', 'img', 'br', 'source']);
const TAG = /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*)\s*>/y;

/** Unclosed and crossed elements, stray `<`, unquoted or repeated attributes, ids that are missing or not unique. */
export function htmlProblems(html: string): string[] {
  const problems: string[] = [];
  const open: string[] = [];
  const ids: string[] = [];
  const references: string[] = [];

  if (!html.startsWith('<!doctype html>\n')) problems.push('no doctype at the start');
  for (let at = html.indexOf('<', 1); at !== -1; at = html.indexOf('<', at + 1)) {
    TAG.lastIndex = at;
    const [, slash, name = '', attributes = ''] = TAG.exec(html) ?? [];
    if (name === '') {
      problems.push(`not a tag: ${html.slice(at, at + 60)}`);
    } else if (slash) {
      if (open.pop() !== name) problems.push(`</${name}> closes something else`);
    } else if (!VOID.has(name)) {
      open.push(name);
    }
    const seen = new Set<string>();
    for (const [, attribute = '', value = ''] of attributes.matchAll(/([a-zA-Z-]+)(?:="([^"]*)")?/g)) {
      if (seen.has(attribute)) problems.push(`<${name}> has ${attribute} twice`);
      seen.add(attribute);
      if (attribute === 'id') ids.push(value);
      if (['for', 'aria-describedby', 'aria-labelledby'].includes(attribute)) references.push(value);
      if (attribute === 'style' || attribute.startsWith('on')) problems.push(`the CSP forbids ${attribute}`);
    }
  }

  if (open.length > 0) problems.push(`never closed: ${open.join(', ')}`);
  if (new Set(ids).size !== ids.length) problems.push('an id is there twice');
  for (const id of references.flatMap((one) => one.split(' ')))
    if (!ids.includes(id)) problems.push(`nothing has the id ${id}`);
  for (const part of ['<title>', '<html lang="', '<main', '<h1>', 'name="viewport"']) {
    if (html.split(part).length !== 2) problems.push(`not exactly one ${part}`);
  }
  return problems;
}
