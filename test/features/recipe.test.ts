// Follows the recipe "A feature" of CONTRIBUTING.md in a copy of the project: with the files and lines of the recipe, and nothing else.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyWithout, removeCopy, runIn } from './without-features.ts';

describe('the recipe of a feature', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await copyWithout([]);
    await followRecipe(folder);
  });
  afterAll(() => removeCopy(folder));

  it('compiles, keeps to the rules of imports, and passes its own test', async () => {
    expect(await runIn(folder, 'tsc', ['--singleThreaded'])).toEqual({ code: 0, output: '' });
    const tests = [
      'vitest',
      'run',
      '--project',
      'suite',
      '--maxWorkers=1',
      'test/features/greeting',
      'test/architecture',
      'test/unit/views/pages',
    ];
    const ran = await runIn(folder, 'env', tests);
    expect(ran.code, ran.output).toBe(0);
  });

  it('has its key, its verb and its place on the account page', async () => {
    const file = { issuer: 'http://localhost:3000', greeting: 'Good morning', account: true };
    await writeFile(path.join(folder, 'greeting.json'), JSON.stringify(file));
    const postern = (verb: string) =>
      runIn(folder, 'node', ['--no-warnings', 'src/main.ts', verb, '--config', 'greeting.json']);
    expect((await postern('check')).code).toBe(0);
    expect(await postern('greeting')).toEqual({ code: 0, output: 'Good morning\n' });
  });
});

async function followRecipe(folder: string): Promise<void> {
  const text = await readFile('CONTRIBUTING.md', 'utf8');
  const recipe = text.slice(text.indexOf('### A feature'), text.indexOf('### A configuration key'));
  const steps = [...recipe.matchAll(/^(.*)\n\n```\w+\n([^]*?)```/gm)];
  for (const [, said = '', block = ''] of steps) {
    const named = [...said.matchAll(/`((?:src|test|views)\/[\w./-]+\.\w+)`/g)].map(([, name = '']) => name);
    const [name = ''] = named;
    if (said.includes('section')) {
      const foot = "<%- include('partials/foot')";
      await edit(path.join(folder, name), foot, `${block}${foot}`);
    } else if (said.includes('lists')) await addToLists(folder, block.split('\n'));
    else {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), block);
    }
  }
  const locales = path.join(folder, 'views/locales');
  for (const file of await readdir(locales))
    await edit(path.join(locales, file), '{', '{ "greeting.title": "Hello",');
}

/** Adds the lines for running.ts and commands.ts. */
async function addToLists(folder: string, [running = '', commands = '']: readonly string[]): Promise<void> {
  const list = (name: string) => path.join(folder, 'src/features', name);
  await edit(
    list('index.ts'),
    'import { access }',
    "import { greeting } from './greeting/feature.ts';\nimport { access }",
  );
  await edit(list('index.ts'), 'FEATURES = [', 'FEATURES = [greeting, ');
  await edit(list('running.ts'), "  'form-post':", `${running}\n  'form-post':`);
  await edit(list('commands.ts'), '  plan:', `${commands}\n  plan:`);
}

async function edit(file: string, before: string, after: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  expect(text).toContain(before);
  await writeFile(file, text.replace(before, after));
}
