// Runs verbs within this process, and undoes what they do to a process that they expect to have for themselves.
import { getPriority, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { run } from '../../src/cli/run.ts';

/** Like `run`. Otherwise, all later tests of this process, and the servers that they start, would come after everything else. */
export async function runHere(...verb: Parameters<typeof run>): Promise<number> {
  const priority = getPriority();
  try {
    return await run(...verb);
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2');
    // Only root may raise it.
    if (getPriority() !== priority && process.getuid?.() === 0) setPriority(priority);
  }
}
