// A client that is a server in its own language: runs until the test ends it.
import { spawn } from 'node:child_process';
import { settings } from './report.ts';

const READY_MS = 120_000;

export type AppServer = { stop(): Promise<void> };

/** Resolves when `readyPath` of the app, or another URL, answers with any status. */
export async function startApp(
  command: readonly string[],
  folder: string,
  readyPath = '/',
): Promise<AppServer> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 2, 2] });
  process.once('exit', () => child.kill('SIGKILL'));
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      await fetch(new URL(readyPath, settings.app), { redirect: 'manual' });
      return { stop };
    } catch (cause) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${program} did not start`, { cause });
    }
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 100)), ended]);
  }
}
