// The site that `npm run docs` builds: every page and link, and what its search finds.
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import MiniSearch from 'minisearch';
import { beforeAll, describe, expect, it } from 'vitest';
import { SEARCH, type Section } from '../../tools/search.ts';
import { runProgram } from '../world/process.ts';
import { tempFolder } from '../world/temp-folder.ts';

const folder = tempFolder();
const site = path.join(folder, 'site');
const build = (cwd?: string) =>
  runProgram([process.execPath, '--no-warnings', path.resolve('tools/docs.ts'), site], { cwd });

describe('the site', () => {
  let index: MiniSearch<Section>;

  beforeAll(async () => {
    expect(await build()).toMatchObject({ code: 0, stderr: '' });
    const [, json = ''] =
      /^globalThis\.searchIndex = (.*);\n$/.exec(
        await readFile(path.join(site, 'search-index.js'), 'utf8'),
      ) ?? [];
    index = MiniSearch.loadJSON(JSON.parse(json) as string, SEARCH);
  });

  it.each([
    ['reset password', 'docs/users.html'],
    ['rotate', 'docs/keys.html'],
    ['Grafana', 'docs/apps/others.html#grafana'],
    ['step-up', 'docs/second-factors.html'],
    ['backup', 'docs/backup.html'],
    ['429', 'docs/production.html#rate-limits'],
    ['groups', 'docs/groups.html'],
    ['passkey', 'docs/second-factors.html'],
    ['Redis', 'docs/redis.html'],
    ['logout', 'docs/back-channel-logout.html'],
  ])('finds %s in %s among the first three', (words, page) => {
    const first = index.search(words).slice(0, 3);
    expect(first.map(({ id }) => (String(id).startsWith(page) ? page : id))).toContain(page);
  });

  it('has the start page, with the documents by reader, its pictures and what it links to', async () => {
    const home = await readFile(path.join(site, 'index.html'), 'utf8');
    const readers = [...home.matchAll(/<h2>([^<]+)<\/h2>\n<ul>/g)].map(([, name]) => name);
    expect(readers).toEqual([
      'Try it',
      'Connect an app',
      'Administer',
      'Operate',
      'Build on it',
      'Contribute',
    ]);
    const addresses = [...home.matchAll(/ (?:href|src|srcset)="(?!https?:)([^"#]+)/g)].map(
      ([, address = '']) => address,
    );
    expect(addresses).toContain('docs/apps/results.html');
    expect(addresses).toContain('docs/pictures/plan.png');
    for (const address of addresses)
      expect((await stat(path.join(site, address))).isFile(), address).toBe(true);
  });

  it('is not built with a link that leads nowhere', async () => {
    await writeFile(
      path.join(folder, 'README.md'),
      '# Here\n\n[there](#there) [that](that.md) [it](it.yaml) [here](#here)\n',
    );
    expect(await build(folder)).toMatchObject({
      code: 1,
      stderr:
        'README.md: nothing at README.md#there\nREADME.md: nothing at that.md\nREADME.md: nothing at it.yaml\n',
    });
  });
});
