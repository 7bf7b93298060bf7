// The primary process must keep running when a worker fails: it loads neither the engine nor a store.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Returns the URL of every module that these modules load. */
async function modulesOf(...modules: readonly string[]): Promise<readonly string[]> {
  const script = `
    const { registerHooks } = await import('node:module');
    const seen = [];
    registerHooks({ load: (url, context, next) => (seen.push(url), next(url, context)) });
    for (const file of ${JSON.stringify(modules.map((file) => path.resolve(file)))}) await import(file);
    console.log(JSON.stringify(seen));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-warnings',
    '--input-type=module',
    '-e',
    script,
  ]);
  return JSON.parse(stdout) as string[];
}

const [primary, worker] = await Promise.all([
  modulesOf(
    'src/cli/run.ts',
    'src/cli/program.ts',
    'src/features/workers/serve.ts',
    'src/features/workers/primary.ts',
  ),
  modulesOf('src/server/server.ts'),
]);

it('RD-30: the process above the workers loads no engine and no store, and a worker does', () => {
  const heavy = (urls: readonly string[]) =>
    urls.filter((url) => /node_modules\/(oidc-provider|lmdb|ioredis)\//.test(url));
  expect(primary.length).toBeGreaterThan(50);
  expect(heavy(primary)).toEqual([]);
  expect(heavy(worker).length).toBeGreaterThan(10);
});
