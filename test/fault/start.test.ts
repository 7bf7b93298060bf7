// How the process starts, fails to start, and stops, as an administrator sees it.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../world/servers.ts';
import { machineToken, signIn } from '../world/app.ts';
import { userinfo } from '../world/presented-tokens.ts';
import { type World, writeWorldConfig } from '../world/world.ts';
import { MAIN, runCli, runProgram, startProcess, startUntil } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { testFolder } from '../world/temp-folder.ts';

/** Output of a start that finds no store: one line of the log, and no warning. */
const ONE_LINE: unknown = expect.stringMatching(/^\{"level":30[^\n]*created signing keys[^\n]*\n$/);

describe('the service as a process', () => {
  let folder: string;
  let ports: readonly [number, number];
  beforeEach(async () => {
    folder = testFolder();
    ports = [await freePort(), await freePort()];
  });

  async function world(config: Readonly<Record<string, unknown>> = {}): Promise<World> {
    return writeWorldConfig(folder, { config }, ports);
  }

  it('keeps its state over a restart: a session’s tokens, the keys, and only the first start has a warning', async () => {
    const here = await world();
    let service = forTest(await startProcess(here.configFile));
    const { tokens } = await signIn(here);
    const before = await (await fetch(`${here.base}/oauth/jwks.json`)).text();
    const stopped = await service.end('SIGTERM');
    expect(stopped).toMatchObject({ code: 0, stderr: ONE_LINE });

    service = forTest(await startProcess(here.configFile));
    expect(await (await fetch(`${here.base}/oauth/jwks.json`)).text()).toBe(before);
    expect((await userinfo(here, tokens.access_token)).status).toBe(200);
    expect(await service.end('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
  });

  it('stops cleanly on SIGINT, with an idle keep-alive connection, and has its audit trail on stdout', async () => {
    const here = await world();
    const service = forTest(await startProcess(here.configFile));
    expect(await machineToken(here, 'reports.read')).toMatch(/^ey/);
    await expect.poll(service.stdout).toContain('"event":"service_started"');
    expect(await readdir(path.join(folder, 'data'))).not.toContain('audit.jsonl');
    expect(await service.end('SIGINT')).toMatchObject({ code: 0, stderr: ONE_LINE });
  });

  it('RD-32: starts and serves with standard output on a full disk; a verb says so and fails', async () => {
    const here = await world();
    const full = ['bash', '-c', 'echo begun; exec "$0" "$@" > /dev/full', process.execPath, MAIN];
    const service = forTest(await startUntil('begun', [...full, 'serve', '--config', here.configFile], {}));
    await vi.waitFor(async () => expect(await machineToken(here, 'reports.read')).toMatch(/^ey/), 30_000);
    expect(await service.end('SIGTERM')).toMatchObject({ code: 0 });
    const { code, stderr } = await runProgram([...full, 'schema'], {});
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^standard output can't be written: ENOSPC[^\n]*\n$/),
    ]);
    // As in `postern schema | head -1`.
    const closed = ['bash', '-c', 'exec > >(true); wait $!; exec "$0" "$@"', process.execPath, MAIN];
    expect(await runProgram([...closed, 'schema'], {})).toMatchObject({ code: 1, stderr: '' });
  });

  it('keeps the audit trail out of a terminal, in the data folder', async () => {
    const here = await world();
    const command = `echo "pid $$"; exec ${process.execPath} dist/main.js serve --config ${here.configFile}`;
    const terminal = await startUntil('Postern is running.', ['script', '-qec', command, '/dev/null'], {});
    const pid = Number(/^pid (\d+)/.exec(terminal.stdout())?.[1]);
    // In a separate process session, so that no signal to the group of `script` reaches it; `script` ends with it.
    const service = forTest({
      ...terminal,
      end(signal) {
        process.kill(pid, signal);
        return terminal.end('SIGCONT');
      },
    });
    await machineToken(here, 'reports.read');
    const trail = path.join(folder, 'data/audit.jsonl');
    expect(service.stdout()).toContain(`audit trail  ${trail}`);
    await expect.poll(() => readFile(trail, 'utf8')).toMatch(/"service_started"[\s\S]*"token_issued"/);
    expect(service.stdout()).not.toContain('service_started');
  });

  it.each([
    ['listen', 0],
    ['management', 1],
  ] as const)('says that the port of %s is taken, and exits with 1', async (name, index) => {
    const taken = await listenOn(ports[index]);
    const here = await world();
    const { code, stderr } = await runCli(['serve', '--config', here.configFile]);
    taken.close();
    const address = `127.0.0.1:${ports[index]}`;
    expect(stderr).toContain(
      `${name} ${address} can't be used: listen EADDRINUSE: address already in use ${address}\n`,
    );
    expect(code).toBe(1);
  });

  it("says in one line that the data folder can't be used, and exits with 1", async () => {
    const file = path.join(folder, 'a-file');
    await writeFile(file, '');
    await chmod(file, 0o400);
    const here = await world({ store: `lmdb:${file}/data` });
    const { code, stderr } = await runCli(['serve', '--config', here.configFile]);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain(`${file}/data`);
    expect(code).toBe(1);
  });

  it('says in one line that Redis is not there, without its password, and exits with 1', async () => {
    const port = await freePort();
    const here = await world({ store: `redis://:hidden-password@127.0.0.1:${port}` });
    const { code, stderr } = await runCli(['serve', '--config', here.configFile]);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).not.toContain('hidden-password');
    expect(code).toBe(1);
  });

  it('names what is wrong in a bad file with line and column, and exits with 1', async () => {
    const file = path.join(folder, 'bad.yaml');
    await writeFile(file, 'issuer: http://localhost:3000\nclinets: []\n');
    const { code, stderr } = await runCli(['serve', '--config', file]);
    expect(stderr).toContain(`${file}:2:1 `);
    expect(stderr).toContain('clients');
    expect(code).toBe(1);
  });

  it('refuses with one line, under npm start, a Node that is too old to know the options it is started with', async () => {
    const project = path.join(folder, 'project');
    await mkdir(project);
    await projectWithOldNode(project);
    const { code, stderr } = await promisify(execFile)('npm', ['start'], { cwd: project }).then(
      () => ({ code: 0, stderr: '' }),
      (error: { code: number; stderr: string }) => error,
    );
    expect(code).toBe(1);
    const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('npm '));
    expect(lines).toEqual([
      expect.stringMatching(/^postern needs Node.js 22.18 .* this is 20.19.0; .* install it$/),
    ]);
  });
});

/** The project in a new folder, where npm has installed no Node.js and the machine's is too old. */
async function projectWithOldNode(target: string): Promise<void> {
  await cp('package.json', path.join(target, 'package.json'));
  const packages = path.join(target, 'node_modules');
  await mkdir(packages);
  for (const name of await readdir('node_modules')) {
    if (!/^(\.bin|node-linux-.*)$/.test(name))
      await symlink(path.resolve('node_modules', name), path.join(packages, name));
  }
  await cp('node_modules/.bin', path.join(packages, '.bin'), { recursive: true, verbatimSymlinks: true });
  const [node, rolldown] = [path.join(packages, '.bin/node'), path.join(packages, '.bin/rolldown')];
  await Promise.all([rm(node, { force: true }), rm(rolldown, { force: true })]);
  // The output of the build is already there.
  await writeFile(rolldown, `#!/bin/sh\ncp -r ${path.resolve('dist')} dist.new\n`, { mode: 0o755 });
  const versions = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})";
  await writeFile(
    node,
    `#!/bin/sh
for word; do [ "$word" = --disable-sigusr1 ] && { echo "node: bad option: $word" >&2; exit 9; }; done
exec ${process.execPath} --import "data:text/javascript,${versions}" "$@"
`,
    { mode: 0o755 },
  );
}

async function listenOn(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}
