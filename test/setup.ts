// Runs once before all tests: the real servers exist and dist/ is what src/ says. Owns no state that a test reads.
import { execFile } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureServers } from './world/servers.ts';

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 * 2 ** 30;

/** POSTERN_TEST_NO_BUILD=1 keeps the dist/ that is there, for one test file again and again. */
export default async function setup(): Promise<void> {
  keepFilesInMemory();
  await ensureServers();
  if (process.env['POSTERN_TEST_NO_BUILD'] !== '1') await build();
}

/**
 * Temporary files, unless TMPDIR names a place for them. The embedded store waits for the disk at each commit, and six test files at once
 * for the same disk: that was more than half of their time.
 */
function keepFilesInMemory(): void {
  if (process.env['TMPDIR'] !== undefined || !existsSync(MEMORY)) return;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize >= ENOUGH_BYTES) process.env['TMPDIR'] = MEMORY;
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
