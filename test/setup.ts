// Runs once before all tests: the real servers exist and dist/ is what src/ says. Owns no state that a test reads.
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureServers } from './world/servers.ts';

/** POSTERN_TEST_NO_BUILD=1 keeps the dist/ that is there, for one test file again and again. */
export default async function setup(): Promise<void> {
  await ensureServers();
  if (process.env['POSTERN_TEST_NO_BUILD'] !== '1') await build();
}

async function build(): Promise<void> {
  const cwd = dirname(dirname(fileURLToPath(import.meta.url)));
  try {
    await promisify(execFile)('npm', ['run', '-s', 'build'], { cwd, maxBuffer: 1 << 26 });
  } catch (cause) {
    const { stdout, stderr } = cause as { stdout?: string; stderr?: string };
    throw new Error(`the build of dist/ failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause });
  }
}
