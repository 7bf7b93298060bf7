// Runs once before all tests: makes sure that the real servers exist and that dist/ matches src/. Holds no state that a test reads.
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

/** POSTERN_TEST_NO_BUILD=1 keeps the existing dist/, to run one test file repeatedly. An outdated dist/ would prove nothing. */
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
 * Puts temporary files in memory, unless TMPDIR names a place for them. The embedded store waits for the disk at each commit, and six test
 * files on the same disk spent more than half of their time on that.
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
