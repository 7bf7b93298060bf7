// The whole suite without all removable features at once, which finds tests of the core that need one, and without each of them, which
// finds tests of a feature that need another. Only tests of the documents are left out: the documents describe all shipped features.
// POSTERN_CHAOS_WITHOUT: the name of a feature, or `all`.
import { execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyWithout, REMOVABLE, removeCopy, runIn } from '../features/without-features.ts';

const ASKED = process.env['POSTERN_CHAOS_WITHOUT'];
/** Tests that compare the documents with the source, and tests that remove features themselves. */
const LEFT_OUT = ['test/docs/**', 'test/features/removal*', 'test/features/recipe*'];

const COPIES = [['all', REMOVABLE] as const, ...REMOVABLE.map((name) => [name, [name]] as const)];

describe.each(COPIES.filter(([name]) => ASKED === undefined || name === ASKED))('without %s', (_, names) => {
  let folder = '';
  beforeAll(async () => {
    folder = await copyWithout(names);
    // The commands that CONTRIBUTING.md names for a change of the keys.
    const schema = await runIn(folder, 'node', ['--no-warnings', 'src/main.ts', 'schema']);
    await writeFile(path.join(folder, 'config/postern.schema.json'), schema.output);
    // Some tests need the files of the project, or run it as another user.
    await chmod(folder, 0o755);
    const commit = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '-qm', 'copy'];
    for (const command of [['init', '-q'], ['add', '-A'], commit])
      execFileSync('git', command, { cwd: folder });
  });
  afterAll(() => removeCopy(folder));

  it('everything else passes', { timeout: 3_600_000 }, async () => {
    const excluded = LEFT_OUT.flatMap((files) => ['--exclude', files]);
    const { code, output } = await runIn(folder, 'vitest', ['run', '--project', 'suite', ...excluded]);
    expect(code, output.slice(-20_000)).toBe(0);
  });
});
