// The priority of threads. For password threads: test/unit/users/passwords.test.ts.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const LOOK = `process.argv = ['node', 'postern', 'user', 'list', '--config', 'none'];
process.on('exit', () => void (process.exitCode = 0) ?? console.log(fs.readdirSync('/proc/self/task').map((thread) => os.getPriority(Number(thread))).join()));
await import(process.env.MAIN);`;

it.runIf(process.platform === 'linux')('LG-31: user list threads run below password threads', async () => {
  const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
  const args = ['--no-warnings', '--input-type=module', '-e', LOOK];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, MAIN } });
  expect(new Set(stdout.trim().split(','))).toEqual(new Set(['19']));
});
