// The Node.js that a checkout runs on, and the files that go into the package. test/fault/package installs the package.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../world/temp-folder.ts';

const run = promisify(execFile);
// The test itself may run by `npx`, which puts the checkout's Node.js first.
const PATH = (process.env['PATH'] ?? '')
  .split(path.delimiter)
  .filter((entry) => !entry.includes('node_modules'))
  .join(path.delimiter);
const env = { ...process.env, PATH };

const folder = tempFolder();

/** The names in the tarball of `source`, without building it again. */
async function pack(source: string): Promise<readonly string[]> {
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, source],
    { env, maxBuffer: 1 << 24 },
  );
  const packed = JSON.parse(stdout) as { files: { path: string }[] }[];
  return packed[0]?.files.map(({ path: name }) => name) ?? [];
}

describe('the packed package', () => {
  // Without glibc, the included Node.js can't run: docs/upgrade.md.
  it.skipIf(process.platform !== 'linux')('leaves a checkout the Node.js that npm brings there', async () => {
    const { optionalDependencies } = JSON.parse(await readFile('tools/node/package.json', 'utf8')) as {
      optionalDependencies: Record<string, string>;
    };
    const { stdout } = await run('npm', ['exec', '-c', 'node --version'], { env });
    expect(stdout.trim()).toBe(`v${optionalDependencies[`node-linux-${process.arch}`]}`);
  });

  it('has the examples of deploy/, and nothing that an operator made beside them', async () => {
    const copy = path.join(folder, 'checkout');
    await mkdir(path.join(copy, 'deploy'), { recursive: true });
    for (const name of ['package.json', '.gitignore']) await cp(name, path.join(copy, name));
    const made = [
      'deploy/secrets/redis_acl',
      'deploy/config/users.yaml',
      'deploy/.env',
      'deploy/compose.override.yaml',
    ];
    for (const name of [...made, 'deploy/compose.yaml', 'deploy/compose/users.yaml']) {
      await mkdir(path.dirname(path.join(copy, name)), { recursive: true });
      await writeFile(path.join(copy, name), 'x\n');
    }
    const contents = await pack(copy);
    expect(contents.filter((name) => name.startsWith('deploy/'))).toEqual([
      'deploy/compose.yaml',
      'deploy/compose/users.yaml',
    ]);
    const ignored = await readFile(path.join(copy, '.gitignore'), 'utf8');
    for (const name of made) expect(ignored).toContain(`/deploy/${name.split('/')[1]}`);
  });
});
