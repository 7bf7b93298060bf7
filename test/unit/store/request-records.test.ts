// What one request saves, and what it asks for a second time, over a real store that writes down what it was asked.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import { createRequestRecords, type RequestRecords } from '../../../src/store/request-records.ts';
import { type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { countCalls, type CountingRecords } from '../oidc/counting-records.fixture.ts';

const NOW = 1_800_000_000_000;
let folder: string;
let store: Store;
let counted: CountingRecords;
let records: RequestRecords;
let next = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-request-'));
  store = await openLmdb({ folder, now: () => NOW });
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  counted = countCalls(store.records);
  records = createRequestRecords(counted.records, () => NOW);
  next += 1;
});

const session = (payload = 'p') => ({ kind: 'Session', key: `k${next}`, payload, ttlSeconds: 60 });

describe('in one request', () => {
  it('a record is asked for once, by several at the same time too', async () => {
    await store.records.save(session());
    await records.inOneRequest(async () => {
      records.readAhead('Session', `k${next}`);
      const found = await Promise.all([1, 2, 3].map(() => records.find('Session', `k${next}`)));
      expect(found.map((one) => one?.payload)).toEqual(['p', 'p', 'p']);
    });
    expect(counted.calls).toEqual(['Session.find']);
  });

  it('what is saved goes out at the end, once, as it was saved last', async () => {
    await records.inOneRequest(async () => {
      await records.save(session('first'));
      await records.save(session('second'));
      expect(counted.calls).toEqual([]);
    });
    expect(counted.calls).toEqual(['Session.save']);
    expect((await store.records.find('Session', `k${next}`))?.payload).toBe('second');
  });

  it('what is saved is found, with the mark of what was there', async () => {
    await store.records.save(session());
    await store.records.consume('Session', `k${next}`);
    await records.inOneRequest(async () => {
      await records.save(session('unread'));
      // Nobody has read what is there, so it is stored first and read then.
      expect(await records.find('Session', `k${next}`)).toMatchObject({
        payload: 'unread',
        consumedAt: NOW / 1000,
      });
      await records.save(session('read'));
      expect(await records.find('Session', `k${next}`)).toMatchObject({
        payload: 'read',
        consumedAt: NOW / 1000,
      });
    });
    expect(counted.calls).toEqual(['Session.save', 'Session.find', 'Session.save']);
  });

  it('consuming goes out at once, after what was saved before, and is known from then on', async () => {
    await records.inOneRequest(async () => {
      await records.save(session());
      expect(await records.consume('Session', `k${next}`)).toBe('consumed');
      expect(await records.find('Session', `k${next}`)).toMatchObject({ consumedAt: NOW / 1000 });
    });
    expect(counted.calls).toEqual(['Session.save', 'Session.consume', 'Session.find']);
    expect(await store.records.consume('Session', `k${next}`)).toBe('already_consumed');
  });

  it('who loses the race for a record asks the store again', async () => {
    await store.records.save(session());
    await records.inOneRequest(async () => {
      await records.find('Session', `k${next}`);
      await store.records.consume('Session', `k${next}`);
      expect(await records.consume('Session', `k${next}`)).toBe('already_consumed');
      expect(await records.find('Session', `k${next}`)).toMatchObject({ consumedAt: NOW / 1000 });
    });
  });

  it('what is destroyed is gone at once, and nothing saved before brings it back', async () => {
    await store.records.save(session());
    await records.inOneRequest(async () => {
      await records.save(session('again'));
      expect(await records.destroy('Session', `k${next}`)).toBe('destroyed');
      expect(await records.find('Session', `k${next}`)).toBeUndefined();
    });
    expect(await store.records.find('Session', `k${next}`)).toBeUndefined();
  });

  it('a grant is revoked once, and nothing of it is found any more', async () => {
    const grant = `g${next}`;
    await store.records.save({ ...session(), grant });
    await records.inOneRequest(async () => {
      await records.find('Session', `k${next}`);
      await Promise.all([1, 2, 3].map(() => records.revokeGrant(grant, 60)));
      expect(await records.find('Session', `k${next}`)).toBeUndefined();
    });
    expect(counted.calls).toEqual(['Session.find', 'revokeGrant', 'Session.find']);
  });

  it('a second name is found among what was read, but never that of a record that ended', async () => {
    const alias = `a${next}`;
    await store.records.save({ ...session(), alias });
    await records.inOneRequest(async () => {
      await records.find('Session', `k${next}`);
      expect(await records.findByAlias('Session', alias)).toMatchObject({ key: `k${next}` });
      await records.save({ ...session('{}'), isConsumed: true });
      await records.save({ ...session('new'), key: `n${next}`, alias, follows: `k${next}` });
      expect(await records.findByAlias('Session', alias)).toMatchObject({ key: `n${next}` });
    });
    expect(counted.calls.filter((call) => call === 'Session.findByAlias')).toHaveLength(1);
  });
});

describe('a request that fails', () => {
  it('saves nothing that it had not stored yet, and tells nobody', async () => {
    const told: string[] = [];
    const work = records.inOneRequest(async () => {
      await records.save(session());
      records.afterwards(() => told.push('done'));
      throw new Error('half way');
    });
    await expect(work).rejects.toThrow('half way');
    expect(told).toEqual([]);
    expect(await store.records.find('Session', `k${next}`)).toBeUndefined();
  });

  it('fails when something can not be saved, and tells nobody', async () => {
    const told: string[] = [];
    counted.records.save = () => Promise.reject(new StoreUnavailable());
    const work = records.inOneRequest(async () => {
      await records.save(session());
      records.afterwards(() => told.push('done'));
    });
    await expect(work).rejects.toThrow(StoreUnavailable);
    expect(told).toEqual([]);
  });

  it('hears of what was read ahead only where it asks for it', async () => {
    counted.records.find = () => Promise.reject(new StoreUnavailable());
    await records.inOneRequest(() => Promise.resolve(records.readAhead('Session', 'away')));
    const asking = records.inOneRequest(async () => {
      records.readAhead('Session', 'away');
      await records.find('Session', 'away');
    });
    await expect(asking).rejects.toThrow(StoreUnavailable);
  });
});

describe('outside of a request', () => {
  it('it is the store itself, also for what goes on after the answer', async () => {
    await records.save(session());
    expect(await store.records.find('Session', `k${next}`)).toBeDefined();
    let release: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (release = resolve));
    let late: Promise<unknown> = Promise.resolve();
    await records.inOneRequest(async () => {
      late = answered.then(() => records.save({ ...session(), key: `late${next}` }));
    });
    release();
    await late;
    expect(await store.records.find('Session', `late${next}`)).toBeDefined();
  });

  it('every question is asked, and everybody is told at once', async () => {
    let asked = 0;
    const ask = () => records.once('n', () => Promise.resolve((asked += 1)));
    expect([await ask(), await ask()]).toEqual([1, 2]);
    let told = 0;
    records.afterwards(() => (told += 1));
    expect(told).toBe(1);
    records.readAhead('Session', 'k');
    expect(counted.calls).toEqual([]);
  });
});
