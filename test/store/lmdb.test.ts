// The embedded store on a real disk: the contract (with IN-13), and faults that only a folder shared by processes can have.
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { asBinary } from 'lmdb';
import { describe, expect, it, vi } from 'vitest';
import { MACHINE_MS } from '../world/clock.ts';
import { tempFolder } from '../world/temp-folder.ts';
import { rounds } from '../world/rounds.ts';
import { openLmdb } from '../../src/store/lmdb/lmdb-store.ts';
import { createLmdbRecords } from '../../src/store/lmdb/records.ts';
import { startSweep } from '../../src/store/lmdb/sweep.ts';
import { toKeyName } from '../../src/store/key-name.ts';
import { openTables } from '../../src/store/lmdb/tables.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { createClock, testStore, uniqueName } from './conformance.ts';

const WORKER = fileURLToPath(new URL('lmdb-worker.ts', import.meta.url));

// With a dot, because by default lmdb takes such a path for a file.
const base = join(tempFolder(), 'postern.lmdb');
mkdirSync(base);

const newFolder = () => join(base, uniqueName());

describe('the lmdb store', () => {
  testStore((now) => openLmdb({ folder: join(base, 'shared.d'), now }));
});

it('the folder of the lmdb store is named when what lies in it is no store', async () => {
  const folder = newFolder();
  await (await openLmdb({ folder, now: Date.now })).close();
  await writeFile(join(folder, 'data.mdb'), 'no store '.repeat(2000));
  await expect(openLmdb({ folder, now: Date.now })).rejects.toThrow(`${folder} can't be opened: `);
});

describe('a closed lmdb store', () => {
  it('has kept everything when it is opened again', async () => {
    const { now } = createClock();
    const folder = newFolder();
    const before = await openLmdb({ folder, now });
    const record = { kind: 'Session', key: 'k', payload: 'p', ttlSeconds: 60, grant: 'g', alias: 'u' };
    await before.records.save(record);
    await before.records.consume('Session', 'k');
    await before.records.revokeGrant('dead', 60);
    await before.documents.put('keys', 'current', 'value', 0);
    await before.counters.increment('c', 3, 60_000);
    await before.close();

    const after = await openLmdb({ folder, now });
    expect(await after.records.findByAlias('Session', 'u')).toEqual({
      key: 'k',
      payload: 'p',
      consumedAt: Math.floor(now() / 1000),
      grant: 'g',
      alias: 'u',
    });
    expect(await after.records.save({ ...record, grant: 'dead' })).toBe('grant_revoked');
    expect(await after.documents.get('keys', 'current')).toEqual({
      id: 'current',
      value: 'value',
      version: 1,
    });
    expect(await after.counters.read('c')).toEqual({ count: 3, resetsInMs: 60_000 });
    await after.close();
  });

  it('says that it is unavailable, and can be closed twice', async () => {
    const store = await openLmdb({ folder: newFolder(), now: Date.now });
    await store.close();
    await store.close();
    const record = { kind: 'Session', key: 'k', payload: 'p', ttlSeconds: 60 };
    await expect(store.ping()).rejects.toThrow(StoreUnavailable);
    await expect(store.records.find('Session', 'k')).rejects.toThrow(StoreUnavailable);
    await expect(store.records.save(record)).rejects.toThrow(StoreUnavailable);
  });
});

it('a look at the lmdb store writes once a second, however many ask', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const folder = newFolder();
  const store = await openLmdb({ folder, now: Date.now });
  const changedAt = async () => [
    (await stat(join(folder, 'data.mdb'), { bigint: true })).mtimeNs,
    (await stat(folder, { bigint: true })).mtimeNs,
  ];
  await store.ping();
  const first = await changedAt();
  for (let look = 0; look < 20; look += 1) await store.ping();
  expect(await changedAt()).toEqual(first);
  vi.advanceTimersByTime(1000);
  await store.ping();
  const [data, files] = await changedAt();
  expect(data).toBeGreaterThan(first[0] ?? 0n);
  expect(files).toBeGreaterThan(first[1] ?? 0n);
  await store.close();
  vi.useRealTimers();
});

it('a damaged counter of the lmdb store counts as full for an hour, then starts anew', async () => {
  const clock = createClock();
  const folder = newFolder();
  const store = await openLmdb({ folder, now: clock.now });
  const { counters } = store;
  const beside = openTables(folder);
  // Cut, no row, and rows of other types.
  const rows = ['c1c1', '07', 'c0', '82a5636f756e74a178a6656e64734174cb7ff0000000000000'];
  for (const [index, row] of rows.entries())
    for (const name of ['read', 'count', 'drop'].map((what) => `${what}${index}`)) {
      await counters.increment(name, 1, 60_000);
      await beside.counters.put(toKeyName(name), asBinary(Buffer.from(row, 'hex')) as never);
    }
  for (const index of rows.keys()) {
    const full = { count: expect.toSatisfy((count: number) => count >= 1e9) as number };
    expect(await counters.read(`read${index}`)).toEqual({ ...full, resetsInMs: 3_600_000 });
    // The window of the limit is shorter.
    expect(await counters.increment(`count${index}`, 1, 60_000)).toEqual({ ...full, resetsInMs: 60_000 });
    await counters.remove(`drop${index}`);
    expect(await counters.read(`drop${index}`)).toBeUndefined();
  }
  clock.forward(3_600_000);
  for (const [index] of rows.entries()) {
    expect(await counters.read(`read${index}`)).toBeUndefined();
    expect(await counters.increment(`count${index}`, 1, 60_000)).toEqual({ count: 1, resetsInMs: 60_000 });
  }
  await beside.close();
  await store.close();
});

describe('the sweep of the lmdb store', () => {
  it('leaves nothing but documents once everything has ended (RD-12)', async () => {
    const clock = createClock();
    const folder = newFolder();
    const store = await openLmdb({ folder, now: clock.now, sweepEveryMs: 10 });
    const saves = Array.from({ length: 1000 }, (_, index) =>
      store.records.save({
        kind: 'Session',
        key: `k${index}`,
        payload: 'p',
        ttlSeconds: 1 + (index % 60),
        grant: `g${index % 10}`,
        alias: `u${index}`,
      }),
    );
    await Promise.all(saves);
    await Promise.all(
      Array.from({ length: 300 }, (_, index) => store.counters.increment(`c${index}`, 1, 60_000)),
    );
    await store.records.revokeGrant('g1', 120);
    await store.documents.put('keys', 'current', 'value', 0);
    clock.forward(60_000);
    const beside = openTables(folder);
    const rowsOf = () =>
      beside.read(() => ({
        records: beside.records.getCount(),
        aliases: beside.aliases.getCount(),
        grants: beside.grants.getCount(),
        counters: beside.counters.getCount(),
        tombstones: beside.tombstones.getCount(),
        expiry: beside.expiry.getCount(),
        documents: beside.documents.getCount(),
      }));
    const none = { records: 0, aliases: 0, grants: 0, counters: 0 };
    await vi.waitFor(
      () => expect(rowsOf()).toEqual({ ...none, tombstones: 1, expiry: 1, documents: 1 }),
      MACHINE_MS,
    );
    clock.forward(60_000);
    await vi.waitFor(
      () => expect(rowsOf()).toEqual({ ...none, tombstones: 0, expiry: 0, documents: 1 }),
      MACHINE_MS,
    );
    await beside.close();
    await store.close();
  });

  it('goes on behind a row that another program wrote, which counts as absent and can be written anew', async () => {
    const clock = createClock();
    const folder = newFolder();
    const store = await openLmdb({ folder, now: clock.now, sweepEveryMs: 10 });
    const { records } = store;
    const record = { kind: 'Session', payload: 'p', grant: 'g', alias: 'u' };
    const keys = ['cut', 'text', 'number', 'anew', 'sound'];
    for (const key of keys) await records.save({ ...record, key, alias: key, ttlSeconds: 10 });
    const beside = openTables(folder);
    const rows = ['86a36b6579', 'c1c1', '07', '07'];
    for (const [index, row] of rows.entries())
      await beside.records.put(`Session:${keys[index]}`, asBinary(Buffer.from(row, 'hex')) as never);
    for (const key of keys.slice(0, 4)) {
      expect(await records.find('Session', key)).toBeUndefined();
      expect(await records.findByAlias('Session', key)).toBeUndefined();
      expect(await records.consume('Session', key)).toBe('gone');
    }
    expect(await records.destroy('Session', 'cut')).toBe('gone');
    await records.save({ ...record, key: 'anew', ttlSeconds: 600 });
    clock.forward(10_000);
    await vi.waitFor(() => expect(beside.read(() => beside.records.getCount())).toBe(1), MACHINE_MS);
    expect(await records.find('Session', 'anew')).toMatchObject({ payload: 'p' });
    await records.revokeGrant('g', 60);
    await beside.close();
    await store.close();
  });

  it('deletes in transactions bounded by time, with a pause after each', async () => {
    const clock = createClock();
    const tables = openTables(newFolder());
    const records = createLmdbRecords(tables, clock.now);
    const keys = Array.from({ length: 30 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => records.save({ kind: 'Session', key, payload: 'p', ttlSeconds: 1 })));
    clock.forward(1000);
    // Each read of the clock takes a millisecond, as a slow row does.
    let ms = 0;
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => (ms += 1));
    const left: number[] = [];
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 1);
    async function write<T>(action: () => T): Promise<T> {
      expect(turns).toBeGreaterThanOrEqual(left.length);
      const result = await tables.write(action);
      left.push(tables.read(() => tables.records.getCount()));
      return result;
    }
    const stop = startSweep({ ...tables, write }, { now: clock.now, everyMs: 5 });
    await vi.waitFor(() => expect(left.at(-1)).toBe(0), MACHINE_MS);
    clearInterval(turning);
    await stop();
    spy.mockRestore();
    await tables.close();
    expect(left.slice(0, 3)).toEqual([27, 24, 21]);
  });

  it('does not keep the process alive', async () => {
    const script = `
      const { openLmdb } = await import(${JSON.stringify(new URL('../../src/store/lmdb/lmdb-store.ts', import.meta.url).href)});
      await openLmdb({ folder: ${JSON.stringify(newFolder())}, now: Date.now });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    expect(await exitOf(child)).toBe(0);
  });
});

describe('processes that share the folder of an lmdb store', () => {
  it('consume each of 300 codes exactly once between them (RD-01)', async () => {
    const folder = newFolder();
    const store = await openLmdb({ folder, now: Date.now });
    const save = (key: string) =>
      store.records.save({ kind: 'AuthorizationCode', key, payload: 'p', ttlSeconds: 60, grant: `g-${key}` });
    await Promise.all(Array.from({ length: 300 }, (_, index) => save(`code${index}`)));

    const workers = [0, 1].map(() => startWorker([folder, 'consume', 'code', '300']));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.stdout.once('data', resolve))));
    const outputs = workers.map((worker) => text(worker.stdout));
    for (const worker of workers) worker.stdin.write('go\n');
    const claims = (await Promise.all(outputs)).map((output) => JSON.parse(output) as string[]);

    for (let index = 0; index < 300; index++) {
      const pair = new Set(claims.map((results) => results[index]));
      expect(pair).toEqual(new Set(['consumed', 'already_consumed']));
    }
    // A process that has just read still sees at once what another process writes.
    expect(await store.records.consume('AuthorizationCode', 'code0')).toBe('already_consumed');
    await store.close();
  });

  it('lose no acknowledged write when the writer is killed (kill -9), and go on', async () => {
    const folder = newFolder();
    const store = await openLmdb({ folder, now: Date.now });
    for (let round = 0; round < rounds(3, 1); round++) {
      const writer = startWorker([folder, 'write']);
      let output = '';
      await new Promise<void>((resolve) => {
        writer.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          if (output.length > 5000) resolve();
        });
      });
      writer.kill('SIGKILL');
      await exitOf(writer);
      // The last line may be incomplete.
      const acknowledged = output.split('\n').slice(0, -1);
      expect(acknowledged.length).toBeGreaterThan(500);
      for (const key of acknowledged) {
        expect((await store.records.find('AccessToken', key))?.payload).toBe(key.repeat(50));
      }
      expect(await store.records.save({ kind: 'Session', key: 'k', payload: 'p', ttlSeconds: 60 })).toBe(
        'saved',
      );
    }
    await store.close();
  });
});

describe('a full disk', () => {
  // A failed commit used to reject a promise inside lmdb without a handler, which ended the process.
  it('makes saves unavailable and ends neither the process nor what was stored', async () => {
    // 1,500 blocks of 512 or of 1,024 bytes: less than the worker writes in either case.
    const command = `ulimit -f 1500 && exec "$0" "$@"`;
    const args = ['-c', command, process.execPath, WORKER, newFolder(), 'fill'];
    // lmdb prints each failed commit.
    const child = spawn('/bin/sh', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [output, code] = await Promise.all([text(child.stdout), exitOf(child)]);
    expect(code).toBe(0);
    const names = [expect.stringMatching(/^StoreTakesNoWrites: the store rejects writes: \w/)];
    expect(JSON.parse(output)).toEqual({ names, readable: 9000 });
  });

  it('is named as such, not as an input/output error', async (context) => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    } catch {
      context.skip('a disk of its own needs the right to mount one');
    }
    try {
      const child = spawn(process.execPath, [WORKER, folder, 'fill'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [output] = await Promise.all([text(child.stdout), exitOf(child)]);
      const names = ['StoreTakesNoWrites: the store rejects writes: No space left on device'];
      expect(JSON.parse(output)).toEqual({ names, readable: 9000 });
    } finally {
      execFileSync('umount', [folder]);
    }
  });
});

function startWorker(args: readonly string[]): ChildProcessByStdio<Writable, Readable, null> {
  return spawn(process.execPath, [WORKER, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

function exitOf(child: { once(event: 'close', listener: (code: number | null) => void): unknown }) {
  return new Promise<number | null>((resolve) => child.once('close', resolve));
}
