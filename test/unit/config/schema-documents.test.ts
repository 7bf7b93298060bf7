import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toJsonSchema, toMarkdown } from '../../../src/config/schema-documents.ts';

describe('docs/configuration.md', () => {
  it('is what "postern schema --markdown" prints', () => {
    expect(readFileSync('docs/configuration.md', 'utf8')).toBe(toMarkdown());
  });

  it('names every key of the schema, with what it means', () => {
    const page = toMarkdown();
    const names = new Set<string>();
    collect(toJsonSchema(), names);
    names.delete('$schema');
    for (const name of names) expect(page.match(`[\`.]${name}[\`.]`), name).not.toBeNull();
    expect(page.match(/: \n|undefined|\[object/)).toBeNull();
  });

  it('says how durations, rates, days and secrets are written', () => {
    const page = toMarkdown();
    expect(page).toContain('**`access_token`** (duration, default `10m`)');
    expect(page).toContain('**`token`** (rate, default `6000/1m`)');
    expect(page).toContain('**`expires_at`** (day or time)');
    expect(page).toContain('**`encryption_keys`** (list of references, default `[]`)');
    expect(page).toContain('**`issuer`** (text, required)');
  });
});

type Node = { readonly properties?: Readonly<Record<string, Node>>; readonly items?: Node };

function collect(node: Node, names: Set<string>): void {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    names.add(key);
    collect(child, names);
  }
  if (node.items) collect(node.items, names);
}
