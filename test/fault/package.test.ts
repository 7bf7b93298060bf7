// The package as somebody gets it: packed, installed in an empty folder, started with npx from there.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { machineToken, signIn } from '../world/app.ts';
import { get } from '../world/requests.ts';
import { writeWorldConfig } from '../world/world.ts';
import { startProcess } from '../world/process.ts';
import { tempFolder } from '../world/temp-folder.ts';

const run = promisify(execFile);

describe('the packed package in an empty folder', () => {
  const folder = tempFolder();
  let ownNode: string;
  const npm = async (...words: readonly string[]) =>
    (await run('npm', words, { cwd: folder, env: ownEnvironment() })).stdout.trim();

  beforeAll(async () => {
    const copy = await copyProject();
    // The machine's own Node on the path, not the one of this checkout: that is what somebody has.
    await run('npm', ['pack', '--pack-destination', folder], { cwd: copy, env: ownEnvironment() });
    await rm(copy, { recursive: true });
    const [tarball = ''] = await readdir(folder);
    const scripts = { which: 'node -p process.execPath' };
    await writeFile(path.join(folder, 'package.json'), JSON.stringify({ private: true, scripts }));
    ownNode = await npm('run', '-s', 'which');
    await npm('install', '--no-audit', '--no-fund', `./${tarball}`);
  }, 240_000);

  it("leaves a project that installs it the Node.js of that project's scripts", async () => {
    expect(await npm('run', '-s', 'which')).toBe(ownNode);
  });

  it('has a configuration that its own check takes', async () => {
    const { stdout } = await run(
      process.execPath,
      [path.join(folder, 'node_modules/.bin/postern'), 'check', '--config', 'config/postern.yaml'],
      { cwd: path.join(folder, 'node_modules/postern') },
    );
    expect(stdout).toContain('config/postern.yaml');
  });

  it('serves the flows with `npx postern serve --config`, on Node.js 24 whatever the machine’s own is', async () => {
    const world = await writeWorldConfig(folder);
    const service = await startProcess(world.configFile, ['npx', 'postern'], folder);
    try {
      expect((await get(world, '/.well-known/openid-configuration')).body['issuer']).toBe(world.issuer);
      expect(await machineToken(world, 'reports.read')).toMatch(/^ey/);
      expect((await signIn(world)).tokens.refresh_token).toMatch(/^[\w-]{43}$/);
      expect(await nodeVersionBelow(service.pid)).toMatch(/^v24\./);
    } finally {
      await service.end();
    }
    const lines = service
      .stderr()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('npm '));
    expect(lines).toEqual([expect.stringMatching(/"level":30.*created signing keys/)]);
  });
});

/** Packing builds, and a build replaces the dist/ that other tests run. */
async function copyProject(): Promise<string> {
  const copy = await mkdtemp(path.join(tmpdir(), 'postern-copy-'));
  const own = new Set(['node_modules', 'dist', '.git']);
  for (const name of await readdir('.')) {
    if (own.has(name)) continue;
    const filter = (source: string) => !own.has(path.basename(source));
    await cp(name, path.join(copy, name), { recursive: true, filter });
  }
  await symlink(path.resolve('node_modules'), path.join(copy, 'node_modules'));
  return copy;
}

/** PATH without this checkout's node_modules, which npm puts first. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const own = (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((entry) => !entry.includes('node_modules'));
  return { ...process.env, PATH: own.join(path.delimiter) };
}

/** The version of the program that the service really runs on: npx starts a shell, the shell starts it. */
async function nodeVersionBelow(pid: number): Promise<string> {
  let last = pid;
  for (let child = pid; child !== 0;) {
    last = child;
    const { stdout } = await run('pgrep', ['-P', String(child)]).catch(() => ({ stdout: '' }));
    child = Number(stdout.split('\n')[0] ?? '0');
  }
  const program = await readlink(`/proc/${last}/exe`);
  return (await run(program, ['--version'])).stdout;
}
