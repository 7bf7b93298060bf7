// Removes features by hand: the folder, its lines in the lists, its document, templates and texts. The rest must not refer to them.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyWithout, keysOfFeature, REMOVABLE, removeCopy, runIn } from './without-features.ts';

const CHECKED = { code: 0, output: '' };
const NODE = ['--no-warnings', 'src/main.ts'];

describe('without any of the removable features', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await copyWithout(REMOVABLE);
  });
  afterAll(() => removeCopy(folder));

  it('the project compiles, tests included', async () => {
    expect(await runIn(folder, 'tsc', ['--singleThreaded'])).toEqual(CHECKED);
  });

  it('the shipped file is in order, the service is built and serves what the specification says', async () => {
    expect(await runIn(folder, 'npm', ['run', '-s', 'build'])).toEqual(CHECKED);
    const check = await runIn(folder, 'node', ['dist/main.js', 'check', '--config', 'config/postern.yaml']);
    expect(check).toMatchObject({ code: 0 });
    const files = ['test/flow/specification', 'test/flow/discovery', 'test/edge/requests'];
    const tests = await runIn(folder, 'env', [
      'POSTERN_TEST_NO_BUILD=1',
      'vitest',
      'run',
      '--project',
      'suite',
      '--maxWorkers=1',
      ...files,
    ]);
    expect(tests.code, tests.output).toBe(0);
  });
});

describe.each(REMOVABLE)('without %s alone', (name) => {
  let folder = '';
  beforeAll(async () => {
    folder = await copyWithout([name]);
  });
  afterAll(() => removeCopy(folder));

  it('the source compiles, and its keys are unknown', async () => {
    await writeFile(path.join(folder, 'src.json'), '{"extends":"./tsconfig.json","include":["src"]}');
    expect(await runIn(folder, 'tsc', ['--singleThreaded', '-p', 'src.json'])).toEqual(CHECKED);
    for (const [place, key] of keysOfFeature(name)) {
      const file = {
        issuer: 'http://localhost:3000',
        ...(place === 'features' && { features: { [key]: true } }),
        ...(place === 'service' && { [key]: true }),
        ...(place === 'client' && { clients: [{ client_id: 'web', [key]: true }] }),
      };
      await writeFile(path.join(folder, 'keys.json'), JSON.stringify(file));
      const { code, output } = await runIn(folder, 'node', [...NODE, 'check', '--config', 'keys.json']);
      expect([code, output]).toEqual([1, expect.stringContaining(`unknown key "${key}"`)]);
    }
  });
});
