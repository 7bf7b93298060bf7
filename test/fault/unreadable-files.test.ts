// Paths in the configuration that aren't regular files: reading one never waits, and an unreadable change doesn't block later ones.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runVerb } from '../world/command-line.ts';
import { runCli, type ServiceProcess, startProcess } from '../world/process.ts';
import { seedStore, writeWorldConfig } from '../world/world.ts';
import { tempFolder } from '../world/temp-folder.ts';

const PATIENCE = { timeout: 20_000, interval: 100 };
const folder = tempFolder();
const at = (name: string) => path.join(folder, name);

let configFile: string;
let management: string;
let original: Readonly<Record<string, unknown>>;
const socket = createServer();
const write = (changes: object, file = configFile) => {
  writeFileSync(`${file}.new`, JSON.stringify({ ...original, ...changes }));
  renameSync(`${file}.new`, file);
};

beforeAll(async () => {
  ({ configFile, management } = await writeWorldConfig(folder));
  original = JSON.parse(readFileSync(configFile, 'utf8')) as typeof original;
  execFileSync('mkfifo', [at('pipe')]);
  symlinkSync('/dev/zero', at('device'));
  await new Promise<void>((resolve) => socket.listen(at('socket'), resolve));
  mkdirSync(at('clients.d'));
});
afterAll(() => {
  socket.close();
});

describe.each(['pipe', 'device', 'socket'])('F1-28: a %s is refused by name', (kind) => {
  const says = (name: string) =>
    expect.stringMatching(new RegExp(`${name}.* is a pipe, a device or a socket`));

  it.each([
    ['users', { users_from: kind }],
    ['clients', { clients_from: [kind] }],
    ['a key', { cookie_keys: [`file:${kind}`] }],
    ['a store', { store: `file:${kind}` }],
  ])('as %s', async (_, changes) => {
    write(changes, at('odd.json'));
    expect(await runVerb(['check', '-c', at('odd.json')])).toMatchObject({ code: 1, stderr: says(kind) });
  });

  it('as the configuration', async () => {
    expect(await runVerb(['check', '-c', at(kind)])).toMatchObject({ code: 1, stderr: says(kind) });
  });
});

describe('a service', () => {
  type Configuration = { readonly hash: string; readonly problem?: string; readonly warning?: string };
  let service: ServiceProcess;
  beforeAll(async () => {
    writeFileSync(at('clients.d/one.json'), '[]\n');
    write({ clients_from: ['clients.d/*.json'] });
    service = await startProcess(configFile);
  });
  afterAll(() => service.end('SIGKILL'));

  async function configuration(): Promise<Configuration> {
    const answer = await fetch(`${management}/readyz`);
    return ((await answer.json()) as { readonly configuration: Configuration }).configuration;
  }

  it('F1-28: says once what a reload has emptied, and takes it over', async () => {
    write({ clients_from: ['clients.d/*.json'] });
    await expect.poll(async () => (await configuration()).warning, PATIENCE).toBeUndefined();
    const { hash } = await configuration();
    writeFileSync(at('empty.json'), '[]\n');
    rmSync(at('clients.d/one.json'));
    write({ clients_from: ['clients.d/*.json'], users_from: 'empty.json' });
    const warning = 'the new configuration has removed all users (2)';
    await expect.poll(configuration, PATIENCE).toMatchObject({ warning });
    expect((await configuration()).hash).not.toBe(hash);
    expect(service.stderr().split(warning)).toHaveLength(2);
  });
});

it('F1-26: a broken client, API, user or feature is a warning to the commands of an emergency, and what is not broken is found', async () => {
  const own = mkdtempSync(path.join(folder, 'emergency-'));
  const written = await writeWorldConfig(own);
  await seedStore(written.configFile);
  const file = JSON.parse(readFileSync(written.configFile, 'utf8')) as Record<string, unknown>;
  const people = JSON.parse(readFileSync(path.join(own, 'users.json'), 'utf8')) as { users: object[] };
  writeFileSync(path.join(own, 'users.json'), JSON.stringify([...people.users, { username: 'carol' }]));
  const broken = {
    ...file,
    clients: [{ client_id: 'web', nonsense: 1 }],
    resources: [7],
    clients_from: ['no.yaml'],
    branding: { nam: 1 },
    sign_in: 7,
    rate_limit: {},
  };
  writeFileSync(written.configFile, JSON.stringify(broken));
  for (const verb of ['keys list', 'user sign-out alice', 'user disable alice', 'user enable alice']) {
    const { code, stderr } = await runCli([...verb.split(' '), '-c', written.configFile]);
    expect([verb, code], stderr).toEqual([verb, 0]);
    for (const words of ['nonsense', 'resources', 'no.yaml', 'carol', 'nam', 'sign_in', 'rate_limit'])
      expect(stderr).toMatch(new RegExp(`warning: .*${words}`));
  }
  expect(await runCli(['check', '-c', written.configFile])).toMatchObject({ code: 1 });
  writeFileSync(written.configFile, JSON.stringify({ ...broken, issuer: 'nowhere' }));
  const refused = await runCli(['keys', 'list', '-c', written.configFile]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/issuer/) });
});
