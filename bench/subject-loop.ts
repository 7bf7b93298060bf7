// A loop of raw work, as processes of its own: the physical limits.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Slice } from './load.ts';

/** `args` as for node; they print a rate and CPU as JSON. Several at once add up. */
export async function runLoop(args: readonly string[], processes: number): Promise<Slice> {
  const all = await Promise.all(
    Array.from({ length: processes }, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', ...args]);
      return JSON.parse(stdout) as Slice;
    }),
  );
  return {
    perSecond: all.reduce((sum, { perSecond }) => sum + perSecond, 0),
    cpuMicroseconds: all.reduce((sum, { cpuMicroseconds }) => sum + cpuMicroseconds, 0) / processes,
  };
}
