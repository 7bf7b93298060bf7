// Settings that need a restart: /readyz lists them; check reports whether they would stop the next start.
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { watchSealed } from '../../src/server/sealed.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { useWorld } from '../world/each-store.ts';
import { freePort, startRedis } from '../world/servers.ts';
import { startProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { inProcesses, PROCESSES } from '../world/processes.ts';
import { postern, useEnvironment } from '../world/terminal.ts';
import { seedStore, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { testFolder } from '../world/temp-folder.ts';

type Pending = readonly string[];

const MISSING = /^postern_encryption_key_missing\{key="(\w+)"/m;
const REFUSED = /the next start would fail: .* (\w{16}), which is not configured/;

useEnvironment(() => WORLD_ENV);

describe.each([
  ['redis', 1],
  ['lmdb', Math.max(...PROCESSES)],
] as const)('a setting that waits for a restart, on %s, in %i process(es)', (engine, processes) => {
  it('is listed until then', async () => {
    const folder = testFolder();
    const redis = engine === 'redis' ? await startRedis() : undefined;
    onTestFinished(() => redis?.stop());
    const keys = await Promise.all(
      ['old', 'fresh'].map(async (name) => {
        const file = path.join(folder, `${name}.key`);
        await writeFile(file, randomBytes(32).toString('base64url'), { mode: 0o600 });
        return `file:${file}`;
      }),
    );
    const [old = '', fresh = ''] = keys;
    const ports = [await freePort(), await freePort()] as const;
    const management = `http://127.0.0.1:${ports[1]}`;
    const { configFile } = await writeWorldConfig(
      folder,
      { ...(redis && { store: redis.url }), config: { ...inProcesses(processes), encryption_keys: [old] } },
      ports,
    );
    const original = JSON.parse(await readFile(configFile, 'utf8')) as object;
    await seedStore(configFile);
    forTest(await startProcess(configFile));

    async function change(settings: object): Promise<void> {
      await writeFile(`${configFile}.draft`, JSON.stringify({ ...original, ...settings }));
      await rename(`${configFile}.draft`, configFile);
    }

    async function readyz() {
      const answer = await fetch(`${management}/readyz`);
      expect(answer.status).toBe(200);
      return (await answer.json()) as { warning?: string; configuration: { pending?: Pending } };
    }
    const pending = async () => (await readyz()).configuration.pending;
    const missing = async () => (await (await fetch(`${management}/metrics`)).text()).match(MISSING)?.[1];

    const check = () => postern(['check', '--config', configFile]);
    const seen = { timeout: 30_000, interval: 200 };

    expect(await pending()).toBeUndefined();
    expect(await check()).toMatchObject({ code: 0, stderr: '' });

    await change({ encryption_keys: [fresh] });
    await expect.poll(pending, seen).toEqual(['encryption_keys']);
    const { code, stderr } = await check();
    expect(code).toBe(1);
    expect(stderr).toMatch(REFUSED);
    await expect.poll(async () => (await readyz()).warning, seen).toMatch(REFUSED);
    const needed = REFUSED.exec(stderr)?.[1];
    await expect.poll(missing, seen).toBe(needed);

    await change({ encryption_keys: [fresh, old] });
    await expect.poll(pending, seen).toEqual(['encryption_keys']);
    expect(await check()).toMatchObject({ code: 0, stderr: '' });
    await expect.poll(missing, seen).toBeUndefined();
    expect((await readyz()).warning).toBeUndefined();

    await change({ issuer: 'http://127.0.0.1:1', listen: { port: 1 } });
    await expect.poll(pending, seen).toEqual(['issuer', 'listen']);

    await change({});
    await expect.poll(pending, seen).toBeUndefined();
  });
});

describe('new encryption keys', () => {
  const world = useWorld();
  it.each([new StoreUnavailable(), new TypeError('a bug')])('are tried again after "%s"', async (error) => {
    const { configFile, openedStore, recorded } = world();
    const config = await loadConfig(configFile, { env: WORLD_ENV });
    const findUnopened = watchSealed(config, { keys: [] }, openedStore, recorded.telemetry.log);
    const wanted = { ...config, encryptionKeys: [randomBytes(32)] };
    vi.spyOn(openedStore.documents, 'getAll').mockRejectedValueOnce(error);
    // A bug is reported, and an outage isn't.
    if (error instanceof StoreUnavailable) expect(await findUnopened(wanted)).toEqual({ keys: [] });
    else await expect(findUnopened(wanted)).rejects.toBe(error);
    vi.restoreAllMocks();
    expect(await findUnopened(wanted)).toMatchObject({ isRefused: true });
  });
});
