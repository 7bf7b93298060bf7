// Runs once before all tests: the real servers exist and dist/ is what src/ says. Owns no state that a test reads.
import { execFile } from 'node:child_process';
import { existsSync, globSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureServers } from './world/servers.ts';

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 * 2 ** 30;

export default async function setup(): Promise<void> {
  keepFilesInMemory();
  await ensureDist();
  await ensureServers();
}

/** POSTERN_TEST_NO_BUILD=1 keeps the dist/ that is there, for one test file again and again. An older one would prove nothing. */
export async function ensureDist(): Promise<void> {
  if (process.env['POSTERN_TEST_NO_BUILD'] !== '1') return buildDist();
  const changedAt = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const builtAt = changedAt('dist/main.js');
  const newer = globSync('src/**').find((file) => changedAt(file) > builtAt);
  if (newer === undefined) return;
  process.stderr.write(`POSTERN_TEST_NO_BUILD=1, but dist/ is older than ${newer}. Run "npm run build".\n`);
  process.exit(1);
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

async function buildDist(): Promise<void> {
  const cwd = dirname(dirname(fileURLToPath(import.meta.url)));
  try {
    await promisify(execFile)('npm', ['run', '-s', 'build'], { cwd, maxBuffer: 1 << 26 });
  } catch (cause) {
    const { stdout, stderr } = cause as { stdout?: string; stderr?: string };
    throw new Error(`the build of dist/ failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause });
  }
}
