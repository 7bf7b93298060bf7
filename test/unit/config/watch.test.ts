import {
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../../src/config/config.ts';
import { loadConfigWithSources, type LoadedConfig } from '../../../src/config/load.ts';
import { type ConfigWatch, watchConfig } from '../../../src/config/watch.ts';
import { client, ENV, OTHER_SECRET, PUBLIC, SECRET, write } from './config-files.ts';

const SETTLE_MS = 200;
/** Ends a wait for an event that never comes. */
const PATIENCE = { timeout: 60_000, interval: 20 };
/** Longer than it takes to load any change. */
const QUIET_MS = SETTLE_MS + 1200;

let running: ConfigWatch | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

type Watched = {
  readonly watch: ConfigWatch;
  readonly configs: LoadedConfig[];
  readonly broken: ConfigError[];
  readonly errors: unknown[];
  readonly loads: () => number;
  readonly clientIds: () => string[] | undefined;
};

async function watched(
  file: string,
  onConfig: (loaded: LoadedConfig) => void | Promise<void> = () => undefined,
): Promise<Watched> {
  const configs: LoadedConfig[] = [];
  const broken: ConfigError[] = [];
  const errors: unknown[] = [];
  let loads = 0;
  const load = (name: string) => {
    loads += 1;
    return loadConfigWithSources(name, { env: ENV });
  };
  const current = await load(file);
  const watch = await watchConfig({
    file,
    current,
    load,
    onConfig: async (loaded) => {
      await onConfig(loaded);
      configs.push(loaded);
    },
    onError: (error) => (error instanceof ConfigError ? broken.push(error) : errors.push(error)),
    settleMs: SETTLE_MS,
  });
  running = watch;
  return {
    watch,
    configs,
    broken,
    errors,
    loads: () => loads,
    clientIds: () => configs.at(-1)?.config.clients.map(({ clientId }) => clientId),
  };
}

const loadWithEnv = (name: string) => loadConfigWithSources(name, { env: ENV });

const withClients = (...ids: string[]) =>
  `${PUBLIC}clients:\n${ids.map((id) => client({ client_id: id })).join('')}`;

const person = (name: string) =>
  `- id: usr_0123456789abcdef\n  username: ${name}\n  password_hash: $argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc\n`;

const handles = () => process.getActiveResourcesInfo().length;

/** Replaces the file like an editor: a new file takes the name of the old one. */
function replace(file: string, content: string): void {
  writeFileSync(`${file}.tmp`, content);
  renameSync(`${file}.tmp`, file);
}

describe('a changed configuration', () => {
  it.each([
    ['written over', writeFileSync],
    ['replaced by an atomic rename', replace],
  ])('is taken over, %s, and again', async (_how, change) => {
    const file = write(withClients('a'));
    const { clientIds } = await watched(file);
    for (const ids of [['a', 'b'], ['b'], ['b', 'c', 'd']]) {
      change(file, withClients(...ids));
      await vi.waitFor(() => expect(clientIds()).toEqual(ids), PATIENCE);
    }
  });

  it('may be a file more, a file less or another file of clients_from', async () => {
    const file = write(`${PUBLIC}clients_from: [clients.d/*.yaml]\n`, {
      'clients.d/a.yaml': client({ client_id: 'a' }),
    });
    const { clientIds } = await watched(file);
    const folder = join(dirname(file), 'clients.d');
    writeFileSync(join(folder, 'b.yaml'), client({ client_id: 'b' }));
    await vi.waitFor(() => expect(clientIds()).toEqual(['a', 'b']), PATIENCE);
    replace(join(folder, 'b.yaml'), client({ client_id: 'b2' }));
    await vi.waitFor(() => expect(clientIds()).toEqual(['a', 'b2']), PATIENCE);
    unlinkSync(join(folder, 'a.yaml'));
    await vi.waitFor(() => expect(clientIds()).toEqual(['b2']), PATIENCE);
  });

  it('may be the people or a secret', async () => {
    const yaml = `${PUBLIC}users_from: users.yaml\nclients:\n${client({ client_secret: 'file:secrets/web' })}`;
    const file = write(yaml, { 'users.yaml': person('alice'), 'secrets/web': SECRET });
    const { configs } = await watched(file);
    const before = await loadConfigWithSources(file, { env: ENV });
    replace(join(dirname(file), 'users.yaml'), person('bob'));
    await vi.waitFor(() => expect(configs.at(-1)?.config.users[0]?.username).toBe('bob'), PATIENCE);
    writeFileSync(join(dirname(file), 'secrets/web'), OTHER_SECRET);
    await vi.waitFor(() => expect(configs).toHaveLength(2), PATIENCE);
    expect(configs[1]?.config.clients[0]?.secrets).not.toEqual(before.config.clients[0]?.secrets);
  });

  it('may be a swapped ConfigMap: links to links to a folder that comes and goes', async () => {
    const folder = mkdtempSync(join(dirname(write(PUBLIC)), 'mount-'));
    const publish = (version: string, content: string) => {
      mkdirSync(join(folder, `..${version}`));
      writeFileSync(join(folder, `..${version}`, 'postern.yaml'), content);
      symlinkSync(`..${version}`, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    publish('1', withClients('a'));
    symlinkSync('..data/postern.yaml', join(folder, 'postern.yaml'));
    const { clientIds } = await watched(join(folder, 'postern.yaml'));
    for (const version of [2, 3, 4]) {
      publish(String(version), withClients('a', `v${version}`));
      rmSync(join(folder, `..${version - 1}`), { recursive: true });
      await vi.waitFor(() => expect(clientIds()).toEqual(['a', `v${version}`]), PATIENCE);
    }
  });

  it('that says the same changes nothing', async () => {
    const file = write(withClients('a'));
    const { configs, loads, watch } = await watched(file);
    // A file that is as young as the load is checked once more.
    watch.reload();
    await delay(QUIET_MS);
    const first = loads();
    replace(file, `# a comment\n${withClients('a')}`);
    await vi.waitFor(() => expect(loads()).toBe(first + 1), PATIENCE);
    utimesSync(file, new Date(), new Date());
    await vi.waitFor(() => expect(loads()).toBe(first + 2), PATIENCE);
    await delay(QUIET_MS);
    expect(configs).toEqual([]);
    expect(loads()).toBe(first + 2);
  });

  it('is noticed also when it came between loading and watching', async () => {
    const file = write(withClients('a'));
    const current = await loadConfigWithSources(file, { env: ENV });
    writeFileSync(file, withClients('a', 'b'));
    const onConfig = vi.fn();
    const rest = { onError: () => undefined, settleMs: SETTLE_MS };
    running = await watchConfig({ file, current, load: loadWithEnv, onConfig, ...rest });
    await vi.waitFor(() => expect(onConfig).toHaveBeenCalledOnce(), PATIENCE);
  });
});

describe('CF-01: a broken file', () => {
  it('is reported once with its line, changes nothing, and the repair is taken over', async () => {
    const file = write(withClients('a'));
    const { configs, broken, clientIds } = await watched(file);
    writeFileSync(file, `${withClients('a')}  - client_id: [\n`);
    await vi.waitFor(() => expect(broken).toHaveLength(1), PATIENCE);
    expect(broken[0]?.problems[0]).toMatchObject({ file, line: expect.any(Number) });
    expect(broken[0]?.message).not.toContain(SECRET);
    await delay(QUIET_MS);
    expect([configs, broken.length]).toEqual([[], 1]);
    writeFileSync(file, withClients('a', 'b'));
    await vi.waitFor(() => expect(clientIds()).toEqual(['a', 'b']), PATIENCE);
  });

  it('may be repaired by a file that it names and that was missing', async () => {
    const file = write(withClients('a'));
    const { broken, configs } = await watched(file);
    writeFileSync(file, `${PUBLIC}clients:\n${client({ client_secret: 'file:later' })}`);
    await vi.waitFor(() => expect(broken).toHaveLength(1), PATIENCE);
    writeFileSync(join(dirname(file), 'later'), SECRET, { mode: 0o600 });
    await vi.waitFor(() => expect(configs).toHaveLength(1), PATIENCE);
  });

  it("that can't be taken over now is tried again by itself", async () => {
    const file = write(withClients('a'));
    let failures = 0;
    const { clientIds, errors } = await watched(file, () => {
      failures += 1;
      if (failures <= 2) throw new Error('the store is away');
    });
    writeFileSync(file, withClients('b'));
    await vi.waitFor(() => expect(clientIds()).toEqual(['b']), PATIENCE);
    expect(errors).toHaveLength(2);
  });
});

describe('CF-03: a half-written file', () => {
  it('is never taken: truncated, then written slowly', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const file = write(withClients(...ids));
    const { configs, broken, clientIds } = await watched(file);
    const final = withClients(...ids, 'g');
    const handle = openSync(file, 'w');
    // Each part alone is a valid configuration.
    for (const part of final.split(/(?= {2}-\n)/)) {
      writeSync(handle, part);
      await delay(SETTLE_MS * 0.6);
    }
    closeSync(handle);
    await vi.waitFor(() => expect(clientIds()).toEqual([...ids, 'g']), PATIENCE);
    expect([configs.length, broken]).toEqual([1, []]);
  });
});

describe('many changes', () => {
  it('at 100 a second are gathered, the last one wins, and nothing is left behind', async () => {
    const file = write(withClients('a'));
    let atOnce = 0;
    let most = 0;
    const { clientIds, loads, watch } = await watched(file, async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await delay(20);
      atOnce -= 1;
    });
    const before = handles();
    for (let count = 0; count < 300; count += 1) {
      replace(file, withClients('a', `c${count}`));
      watch.reload();
      await delay(10);
    }
    await vi.waitFor(() => expect(clientIds()).toEqual(['a', 'c299']), PATIENCE);
    expect(most).toBe(1);
    expect(loads()).toBeLessThan(40);
    expect(handles()).toBeLessThan(before + 5);
    await watch.stop();
    watch.reload();
    const last = loads();
    await delay(QUIET_MS);
    expect(loads()).toBe(last);
  });

  it('end with the last one alone, also when it came while the one before was read', async () => {
    const file = write(withClients('a'));
    const current = await loadWithEnv(file);
    replace(file, withClients('first'));
    const change = vi.fn().mockImplementationOnce(() => replace(file, withClients('last')));
    const taken: (string | undefined)[] = [];
    running = await watchConfig({
      file,
      current,
      load: async (name) => {
        const loaded = await loadWithEnv(name);
        change();
        return loaded;
      },
      onConfig: ({ config }) => {
        taken.push(config.clients[0]?.clientId);
      },
      onError: (error) => expect.fail(String(error)),
      settleMs: SETTLE_MS,
    });
    await vi.waitFor(() => expect(taken).toEqual(['last']), PATIENCE);
  });

  it('end when the watch is stopped, also in the middle of one', async () => {
    const file = write(withClients('a'));
    const { watch, configs } = await watched(file);
    writeFileSync(file, withClients('b'));
    await delay(100);
    await watch.stop();
    await delay(QUIET_MS);
    expect(configs).toEqual([]);
  });
});
