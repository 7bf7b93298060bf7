// Debian's promtool without its server: found in the PATH, or extracted from the package if there is apt.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = path.resolve('node_modules/.cache/promtool');
const UNPACKED = path.join(CACHE, 'usr/bin/promtool');

/** The program, or the reason why it isn't available here. */
export async function findPromtool(): Promise<{ readonly program?: string; readonly missing?: string }> {
  for (const program of ['promtool', UNPACKED]) {
    const isThere = await run(program, ['--version']).then(
      () => true,
      () => false,
    );
    if (isThere) return { program };
  }
  if (!existsSync('/usr/bin/apt-get')) return { missing: 'install promtool (it is in Debian’s prometheus)' };
  try {
    await mkdir(CACHE, { recursive: true });
    await run('apt-get', ['download', '-q', 'prometheus'], { cwd: CACHE }).catch(async () => {
      await run('apt-get', ['update', '-q'], { maxBuffer: 1 << 26 });
      await run('apt-get', ['download', '-q', 'prometheus'], { cwd: CACHE });
    });
    const [archive = ''] = (await readdir(CACHE)).filter((name) => name.endsWith('.deb'));
    await run('dpkg-deb', ['-x', archive, '.'], { cwd: CACHE });
    return { program: UNPACKED };
  } catch (error) {
    return { missing: `apt-get could not download prometheus: ${String(error)}` };
  }
}
