// The package as users get it: released, installed in an empty folder and for the whole machine, started, and removed.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../../world/browser.ts';
import { freePort } from '../../world/servers.ts';
import { machineToken, signIn } from '../../world/app.ts';
import { get } from '../../world/requests.ts';
import { writeWorldConfig } from '../../world/world.ts';
import { startProcess } from '../../world/process.ts';
import { isShipped } from '../../world/shipped.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const run = promisify(execFile);

const released = tempFolder();
const [first, second] = [path.join(released, 'first'), path.join(released, 'second')];
const printed: string[] = [];
let tarball: string;

beforeAll(async () => {
  const copy = await copyProject();
  // First no image builder works, then one does.
  for (const name of ['docker', 'podman', 'buildah']) await putProgram(name, 'exit 1');
  // The machine's own Node on the path, not the one of this checkout: that is what users have.
  const env = { ...ownEnvironment(), PATH: `${released}/bin:${ownEnvironment()['PATH']}` };
  for (const folder of [first, second]) {
    printed.push((await run('tools/release.sh', [folder], { cwd: copy, env })).stdout);
    await putProgram('podman', 'echo "$@"');
  }
  await rm(copy, { recursive: true });
  tarball = path.join(first, (await readdir(first)).find((name) => name.endsWith('.tgz')) ?? '');
}, 240_000);

async function putProgram(name: string, text: string): Promise<void> {
  await mkdir(path.join(released, 'bin'), { recursive: true });
  await writeFile(path.join(released, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

describe('the release', () => {
  it('is the same twice, and its checksums are right', async () => {
    const sums = await readFile(path.join(first, 'SHA256SUMS'), 'utf8');
    expect(await readFile(path.join(second, 'SHA256SUMS'), 'utf8')).toBe(sums);
    for (const cwd of [first, second]) await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd });
  });

  it('builds the image where a builder works, and says so where none does', () => {
    const version = path.basename(tarball, '.tgz').replace('-', ':');
    expect(printed[0]).toMatch(/\nNo image: neither docker, podman nor buildah works here\n$/);
    expect(printed[1]?.split('\n').at(-2)).toBe(`build -f deploy/Dockerfile -t ${version} .`);
  });

  it('lists in its bill of materials what comes with the package, and nothing that development needs', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Record<
      string,
      Record<string, string>
    >;
    const bill = JSON.parse(await readFile(tarball.replace('.tgz', '.cdx.json'), 'utf8')) as {
      serialNumber: string;
      components: { purl: string }[];
    };
    expect(bill.serialNumber).toMatch(/^urn:uuid:[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    const urls = bill.components.map(({ purl }) => decodeURIComponent(purl));
    const urlOf = ([name, wanted]: [string, string]) =>
      `pkg:npm/${wanted.replace(/^npm:/, '').replace(/^(?=\d)/, `${name}@`)}`;
    expect(urls).toEqual(expect.arrayContaining(Object.entries(manifest['dependencies'] ?? {}).map(urlOf)));
    const forDevelopment = Object.keys(manifest['devDependencies'] ?? {}).map((name) => `pkg:npm/${name}@`);
    expect(urls.filter((url) => forDevelopment.some((start) => url.startsWith(start)))).toEqual([]);
  });
});

describe('the packed package, installed for the whole machine', () => {
  const prefix = tempFolder();
  const program = path.join(prefix, 'bin/postern');
  const npm = (...words: readonly string[]) =>
    run('npm', [...words, '--prefix', prefix], { cwd: prefix, env: ownEnvironment() });
  /** PATH with that version first. */
  async function pathWith(version: string): Promise<string> {
    const name = `node-linux-${process.arch}`;
    const own = path.join(prefix, version);
    const words = ['install', '--no-audit', '--no-fund', '--prefix', own, `${name}@${version}`];
    await run('npm', words, { cwd: prefix, env: ownEnvironment() });
    return `${path.join(own, 'node_modules', name, 'bin')}:/usr/bin:/bin`;
  }

  beforeAll(() => npm('install', '--global', '--no-audit', '--no-fund', tarball), 240_000);

  it.each([process.versions.node, '22.18.0'])('on Node.js %s: init, start and sign-in', async (version) => {
    const own = version === process.versions.node ? `${path.dirname(process.execPath)}:/bin` : undefined;
    const PATH = own ?? (await pathWith(version));
    const folder = path.join(prefix, `service-${version}`);
    const port = await freePort();
    const issuer = `http://localhost:${port}`;
    const { stdout } = await run(program, ['init', folder, '--issuer', issuer], { env: { PATH } });
    const service = await startProcess(path.join(folder, 'config/postern.yaml'), [program], folder, {
      PATH,
    });
    try {
      if (isShipped('try-out')) await signInToDemo(issuer, port + 1, stdout.trim());
      expect((await run(await readlink(`/proc/${service.pid}/exe`), ['--version'])).stdout).toBe(
        `v${version}\n`,
      );
    } finally {
      await service.end();
    }
  });

  it('says on Node.js 20 in one line which version it needs', async () => {
    const env = { PATH: await pathWith('20.19.0') };
    const failed = {
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^postern needs Node\.js 22\.18 or newer.*\n$/) as string,
    };
    await expect(run(program, ['version'], { env })).rejects.toMatchObject(failed);
  });

  it('is gone once it is removed, and leaves the configuration', async () => {
    await npm('uninstall', '--global', 'postern');
    expect(await readdir(path.join(prefix, 'bin'))).toEqual([]);
    expect(await readdir(path.join(prefix, 'lib/node_modules'))).not.toContain('postern');
    expect(await readdir(path.join(prefix, 'service-22.18.0'))).toEqual(['config', 'data']);
  });
});

describe('the packed package in an empty folder', () => {
  const folder = tempFolder();
  let ownNode: string;
  const npm = async (...words: readonly string[]) =>
    (await run('npm', words, { cwd: folder, env: ownEnvironment() })).stdout.trim();

  beforeAll(async () => {
    const scripts = { which: 'node -p process.execPath' };
    await writeFile(path.join(folder, 'package.json'), JSON.stringify({ private: true, scripts }));
    ownNode = await npm('run', '-s', 'which');
    await npm('install', '--no-audit', '--no-fund', tarball);
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

/** Copies the project, because packing builds, and a build replaces the dist/ that other tests run. */
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

/** The Node version that the service really runs on: npx starts a shell, and the shell starts the service. */
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

/** The app that signs in is the one to try out. */
async function signInToDemo(issuer: string, managementPort: number, password: string) {
  const demo = `http://localhost:${managementPort}`;
  const [app, user] = [new Browser(demo), new Browser(issuer)];
  const page = await user.open((await app.open(`${demo}/try/start`)).url);
  const consent = await user.submit(page, '/login', { username: 'alice', password });
  const { url } = await user.submit(consent, '/consent');
  expect((await app.open(url)).text).toContain('The demo app signed you in and verified both tokens.');
}
