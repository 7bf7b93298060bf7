// What the documents say about the repository is true: paths exist, and the tables of ARCHITECTURE.md are those that
// test/architecture.test.ts executes. The build of the site follows the links (site.test.ts).
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LimitRow, rateLimitsSchema } from '../../src/config/schema-limits.ts';
import { LIMIT_NAMES, LIMITS } from '../../src/limits/limits.ts';

const DOCUMENTS = globSync(['*.md', 'docs/**/*.md', 'deploy/*.md', 'bench/README.md']);
const ARCHITECTURE = readFileSync('ARCHITECTURE.md', 'utf8');
const DECISIONS = globSync('docs/decisions/*.md');
const EXECUTED = readFileSync('test/architecture.test.ts', 'utf8');

describe('the documents', () => {
  it('name npm scripts that are there', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = DOCUMENTS.filter((document) => document !== 'CHANGELOG.md').flatMap((document) =>
      [...readFileSync(document, 'utf8').matchAll(/npm run (?:-s )?([a-z:]+)/g)].map(([, name = '']) => name),
    );
    expect(named).toContain('check');
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

it('README.md fits on a few screens', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThan(150);
});

describe('docs/hardening.md', () => {
  const SECONDS: Record<string, number> = { m: 60, h: 3600 };
  const [, section = ''] = readFileSync('docs/hardening.md', 'utf8')
    .split('\n## ')
    .filter((one) => /^(Checklist|Limits)\n/.test(one));
  const rows = [...section.matchAll(/^\| `([a-z_]+(?:\.[a-z_]+)?)` .*$/gm)]
    .map(([row]) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map(([, name = '', setBy = '', rate = '']) => ({ name, setBy, rate }));

  it('has a row for each limit', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...LIMIT_NAMES].toSorted());
  });

  it.each(Object.entries<LimitRow>(LIMITS))('has the rate of %s', (name, row) => {
    const said = rows.find((one) => one.name === name);
    const [key, times] = 'limit' in row ? (['fixed', 1] as const) : row;
    expect(said?.setBy.split(' × ')[0]).toBe(key === 'signIn' ? 'sign_in' : key);
    const [, count, windows = '1', unit = ''] = /^(\d+)\/(\d+)([mh])$/.exec(said?.rate ?? '') ?? [];
    const rate = 'limit' in row ? row : rateLimitsSchema.parse({})[row[0]];
    expect({ limit: Number(count), windowSeconds: Number(windows) * (SECONDS[unit] ?? 0) }).toEqual({
      limit: rate.limit * times,
      windowSeconds: rate.windowSeconds,
    });
  });
});

describe('ARCHITECTURE.md', () => {
  it('has the order of imports that is executed', () => {
    const [, order = ''] = /const ORDER = \[\n([\s\S]*?)\n\];/.exec(EXECUTED) ?? [];
    const executed = order
      .split('\n')
      .map((row) => [...row.matchAll(/'([^']+)'/g)].map(([, name]) => name).join(', '))
      .join(' < ');
    expect(executed).toContain('observability < config');
    expect(ARCHITECTURE).toContain(`\n${executed}\n`);
  });

  it('has each package in the home that is executed', () => {
    const [, homes = ''] = /const HOMES[^=]*= \{\n([\s\S]*?)\n\};/.exec(EXECUTED) ?? [];
    const rows = ARCHITECTURE.split('\n').filter((line) => line.startsWith('|'));
    const wrong = [...homes.matchAll(/^ {2}'?([^':]+)'?: \[(.*)\]/gm)].filter(([, name = '', folders = '']) =>
      [...folders.matchAll(/'([^']+)'/g)].some(([, folder = '']) => {
        const home = `\`${folder}${folder.endsWith('.ts') ? '' : '/'}\``;
        return !rows.some((row) => row.split('|')[1]?.includes(home) === true && row.includes(`\`${name}\``));
      }),
    );
    expect(wrong.map(([line]) => line)).toEqual([]);
  });

  it('names files that are there', () => {
    const texts = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...DECISIONS].map((file) =>
      readFileSync(file, 'utf8')
        // Names of the feature that test/features/recipe.test.ts creates.
        .replaceAll(/\S*greeting\S*/g, ''),
    );
    const named = [...texts.join('\n').matchAll(/`((?:src|test|views|docs|deploy|bench)\/[\w./-]+)`/g)];
    const missing = named.filter(([, name = '']) => globSync(name.replace('NAME', '*')).length === 0);
    expect(named.length).toBeGreaterThan(40);
    expect(missing.map(([, name]) => name)).toEqual([]);
  });

  it('fits on a few screens', () => {
    expect(ARCHITECTURE.split('\n').length).toBeLessThan(200);
  });
});

it('the index of the decisions lists every file of them', () => {
  const index = readFileSync('docs/decisions/README.md', 'utf8');
  const missing = DECISIONS.map((file) => path.basename(file)).filter(
    (name) => name !== 'README.md' && !index.includes(`(${name})`),
  );
  expect(DECISIONS.length).toBeGreaterThan(5);
  expect(missing).toEqual([]);
});
