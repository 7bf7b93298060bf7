// A file with a key or a secret that other users can read or replace stops the start; the message has the command that fixes it.
import { execFile } from 'node:child_process';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../world/servers.ts';
import { postern } from '../world/terminal.ts';
import { machineToken } from '../world/app.ts';
import { SECRETS, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { runCli, startProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { testFolder } from '../world/temp-folder.ts';

let folder: string;
let ports: readonly [number, number];
beforeEach(async () => {
  folder = testFolder();
  ports = [await freePort(), await freePort()];
});

const inFolder = (name: string): string => path.join(folder, name);

async function secret(name: string, value: string, mode: number): Promise<void> {
  await writeFile(inFolder(name), `${value}\n`);
  await chmod(inFolder(name), mode); // independent of the umask
}

async function writeConfigHere(config: Readonly<Record<string, unknown>>): Promise<World> {
  return writeWorldConfig(folder, { config }, ports);
}

const SERVICE = {
  client_id: 'svc',
  client_secret: 'file:client.secret',
  grant_types: ['client_credentials'],
  scope: 'reports.read',
};
const PLAIN = { users_from: undefined, resources: [{ resource: 'urn:a', scopes: ['reports.read'] }] };
const REFERENCES = {
  ...PLAIN,
  store: 'file:store',
  encryption_keys: ['file:encryption.key'],
  cookie_keys: ['file:cookie.key'],
  clients: [SERVICE],
};
const FILES = {
  store: 'lmdb:data',
  'encryption.key': WORLD_ENV.TEST_ENCRYPTION_KEY,
  'cookie.key': WORLD_ENV.TEST_COOKIE_KEY,
  'client.secret': SECRETS.svc,
} as const;

async function writeSecrets(mode: string): Promise<void> {
  for (const [name, value] of Object.entries(FILES)) await secret(name, value, Number.parseInt(mode, 8));
}

describe('files that file: references name', () => {
  it.each([
    ['644', '640'],
    ['660', '640'],
    ['620', '600'],
    ['602', '600'],
  ])('are refused with mode %s, in one line each', async (mode, mended) => {
    const { configFile } = await writeConfigHere(REFERENCES);
    await writeSecrets(mode);
    const { code, stderr } = await postern(['check', '--config', configFile]);
    expect(code).toBe(1);
    for (const name of Object.keys(FILES)) {
      const file = inFolder(name);
      const line = `${file} contains a secret, but other users can read or change it (mode ${mode}): run chmod ${mended} ${file}`;
      expect(stderr.split('\n').filter((each) => each.includes(line))).toHaveLength(1);
    }
    for (const value of Object.values(FILES)) expect(stderr).not.toContain(value);
  });

  it.each(['400', '600', '440', '640'])('are fine with mode %s', async (mode) => {
    const { configFile } = await writeConfigHere(REFERENCES);
    await writeSecrets(mode);
    expect(await postern(['check', '--config', configFile])).toMatchObject({ code: 0, stderr: '' });
  });

  it('stop the start, until the printed command has been run', async () => {
    const world = await writeConfigHere(REFERENCES);
    await writeSecrets('600');
    await chmod(inFolder('cookie.key'), 0o644);
    const { code, stdout, stderr } = await runCli(['serve', '--config', world.configFile]);
    expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([
      1,
      '',
      [expect.stringContaining('cookie_keys[0]')],
    ]);
    const [, command = ''] = /: run (chmod .*)$/m.exec(stderr) ?? [];
    await promisify(execFile)('sh', ['-c', command]);
    const service = forTest(await startProcess(world.configFile));
    expect(await machineToken(world, 'reports.read')).toMatch(/^ey/);
    expect(service.stdout()).not.toContain('secret_files');
  });

  it('serve with any mode when secret_files says so, which the start says once', async () => {
    const world = await writeConfigHere({ ...REFERENCES, secret_files: 'any_mode' });
    await writeSecrets('666');
    const service = forTest(await startProcess(world.configFile));
    expect(await machineToken(world, 'reports.read')).toMatch(/^ey/);
    expect(service.stdout().split('secret_files is any_mode')).toHaveLength(2);
  });
});

it('the data folder and its files stop the start while every user may write them, but not for a group, or with any_mode', async () => {
  const { configFile } = await writeConfigHere({ ...PLAIN, clients: [] });
  await forTest(await startProcess(configFile)).end();
  const modes = { data: 0o777, 'data/data.mdb': 0o666, 'data/lock.mdb': 0o602 };
  for (const [name, mode] of Object.entries(modes)) await chmod(inFolder(name), mode);
  const { code, stderr } = await runCli(['serve', '--config', configFile]);
  expect(code).toBe(1);
  const commands = [...stderr.matchAll(/store: all users can write to .*: run (chmod .*)$/gm)];
  expect(commands.map(([, command]) => command)).toEqual(
    Object.keys(modes).map((name) => `chmod o-w ${inFolder(name)}`),
  );
  const check = () => runCli(['check', '--config', configFile]);
  expect((await check()).code).toBe(1);
  for (const [, command = ''] of commands) await promisify(execFile)('sh', ['-c', command]);
  await chmod(inFolder('data'), 0o2775);
  await chmod(inFolder('data/data.mdb'), 0o660);
  expect(await check()).toMatchObject({ code: 0, stderr: '' });
  await chmod(inFolder('data'), 0o777);
  await writeConfigHere({ ...PLAIN, clients: [], secret_files: 'any_mode' });
  expect((await check()).code).toBe(0);
});

describe('keys that were generated', () => {
  const GENERATED = { ...PLAIN, encryption_keys: [], cookie_keys: [], clients: [] };

  it('stop the start when others may read them', async () => {
    const name = 'cookie.key';
    const world = await writeConfigHere(GENERATED);
    const service = forTest(await startProcess(world.configFile));
    await service.end();
    const file = inFolder(`data/${name}`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await chmod(file, 0o644);
    const { code, stderr } = await runCli(['serve', '--config', world.configFile]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `${file} contains a secret, but other users can read or change it (mode 644): run chmod 640 ${file}`,
    );
    expect(stderr).not.toContain((await readFile(file, 'utf8')).trim());
    const open = { ...GENERATED, secret_files: 'any_mode' };
    const again = forTest(await startProcess((await writeConfigHere(open)).configFile));
    expect(again.stdout()).toContain('secret_files is any_mode');
  });
});
