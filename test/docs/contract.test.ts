// docs/contract.md and test/cases.md list the promises and the attacks; the titles of the tests say which are tested.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const TESTS: ReadonlyMap<string, string> = new Map(
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => path.join('test', name))
    .filter((name) => /(?<!mutants)\.ts$/.test(name))
    .map((name) => [name, readFileSync(name, 'utf8')]),
);

describe('docs/contract.md', () => {
  const text = readFileSync('docs/contract.md', 'utf8');
  const rows = text.split(/^## /m).flatMap((chapter) => {
    const section = /^§\d+/.exec(chapter)?.[0] ?? '';
    return [...chapter.matchAll(/^\| `([^`]+)` +\| .* \| (`test\/.*`) +\|$/gm)].map(
      ([, name = '', files = '']) => ({
        title: `Spec ${section} ${name}`,
        files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
      }),
    );
  });

  it('names for each row the files whose tests show it', () => {
    expect(rows.length).toBeGreaterThan(30);
    for (const { title, files } of rows) {
      for (const file of files) expect(TESTS.get(file), `${file} shows "${title}"`).toContain(title);
    }
  });

  it('has a row for each test of the contract', () => {
    const titles = [...TESTS.values()].flatMap((source) => source.match(/(?<=['`])Spec §[^'`]*/g) ?? []);
    const unknown = titles.filter((title) => !rows.some((row) => title.startsWith(row.title)));
    expect(unknown).toEqual([]);
  });
});

describe('test/cases.md', () => {
  const ID = /\b(?:AC|AZ|F1|CF|HT|IN|IS|KY|LG|LO|MC|MF|ML|PK|PR|RD|RT|TK)-\d{2}\b/g;
  const listed = [...readFileSync('test/cases.md', 'utf8').matchAll(/^\| ((?:[A-Z]{2}|F1)-\d{2}) \|/gm)].map(
    ([, id = '']) => id,
  );
  const tested = new Set([...TESTS.values()].flatMap((source) => source.match(ID) ?? []));

  it('has each case once', () => {
    expect(listed).toEqual([...new Set(listed)]);
  });

  it('has a line for each case that a test names, and no other', () => {
    expect(listed.toSorted()).toEqual([...tested].toSorted());
  });
});
