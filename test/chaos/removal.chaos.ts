// The whole suite without each of the removable features. Documents are the only thing left out: they speak of what is shipped.
// POSTERN_CHAOS_WITHOUT: one feature instead of all.
import { execFileSync } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyWithout, REMOVABLE, removeCopy, runIn } from '../features/without-features.ts';

const ASKED = process.env['POSTERN_CHAOS_WITHOUT'];
/** What compares the documents and the shipped schema with the source, and what removes features itself. */
const LEFT_OUT = [
  'test/docs/**',
  'test/features/removal*',
  'test/features/recipe*',
  'test/unit/config/shipped*',
];

describe.each(ASKED === undefined ? REMOVABLE : [ASKED])('without %s', (name) => {
  let folder = '';
  beforeAll(async () => {
    folder = await copyWithout([name]);
    // Some tests ask for the files of the project, or run it as another user.
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
