// The saves of one request, and its repeated reads, over a real store that notes its calls.
import { beforeEach, describe, expect, it } from 'vitest';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { createUnitOfWork, type UnitOfWork } from '../../../src/store/unit-of-work.ts';
import { countCalls, type CountingRecords } from '../oidc/counting-records.fixture.ts';
import { tempFolder } from '../../world/temp-folder.ts';
import { useStarted } from '../../world/started.ts';

const NOW = 1_800_000_000_000;
const folder = tempFolder();
let counted: CountingRecords;
let records: UnitOfWork;
let next = 0;

const store = useStarted(() => openLmdb({ folder, now: () => NOW }));
beforeEach(() => {
  counted = countCalls(store().records);
  records = createUnitOfWork({ ...store(), records: counted.records }, () => NOW);
  next += 1;
});

const session = (payload = 'p') => ({ kind: 'Session', key: `k${next}`, payload, ttlSeconds: 60 });

describe('in one request', () => {
  it('a record is asked for once, by several at the same time too', async () => {
    await store().records.save(session());
    await records.run(async () => {
      const found = await Promise.all([1, 2, 3].map(() => records.find('Session', `k${next}`)));
      expect(found.map((one) => one?.payload)).toEqual(['p', 'p', 'p']);
    });
    expect(counted.calls).toEqual(['Session.find']);
  });

  it('what is saved goes out at the end, once, as it was saved last', async () => {
    await records.run(async () => {
      await records.save(session('first'));
      await records.save(session('second'));
      expect(counted.calls).toEqual([]);
    });
    expect(counted.calls).toEqual(['Session.save']);
    expect((await store().records.find('Session', `k${next}`))?.payload).toBe('second');
  });

  it('what is saved is found, with the mark of what was there', async () => {
    await store().records.save(session());
    await store().records.consume('Session', `k${next}`);
    await records.run(async () => {
      await records.save(session('unread'));
      // The stored record wasn't read before.
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
    expect(counted.calls).toEqual(['Session.find', 'Session.save']);
  });

  it('consuming goes out at once, after what was saved before, and is known from then on', async () => {
    await records.run(async () => {
      await records.save(session());
      expect(await records.consume('Session', `k${next}`)).toBe('consumed');
      expect(await records.find('Session', `k${next}`)).toMatchObject({ consumedAt: NOW / 1000 });
    });
    expect(counted.calls).toEqual(['Session.save', 'Session.consume', 'Session.find']);
    expect(await store().records.consume('Session', `k${next}`)).toBe('already_consumed');
  });

  it('who is late for a record that is used with what is saved has saved nothing of it, by a second name either', async () => {
    await store().records.save(session());
    const whole = createUnitOfWork(store(), () => NOW);
    const late = whole.run(async () => {
      await whole.use('Session', `k${next}`, (result) => Promise.reject(new Error(result)));
      await whole.save({ ...session(), key: `follows${next}` });
      await store().records.consume('Session', `k${next}`);
      await whole.findByAlias('Session', 'of nobody');
    });
    await expect(late).rejects.toThrow('already_consumed');
    expect(await store().records.find('Session', `follows${next}`)).toBeUndefined();
  });

  it('a record that is consumed and destroyed in one request is used by who is the first', async () => {
    const whole = createUnitOfWork(store(), () => NOW);
    const lose = (result: string) => Promise.reject(new Error(result));
    async function consumeAndDestroy(meanwhile = async (): Promise<unknown> => undefined) {
      await store().records.save(session());
      await whole.run(async () => {
        await whole.use('Session', `k${next}`, lose);
        await whole.save({ ...session(), key: `follows${next}` });
        await whole.use('Session', `k${next}`, lose, { destroys: true });
        await meanwhile();
      });
    }
    const taken = consumeAndDestroy(() => store().records.consume('Session', `k${next}`));
    await expect(taken).rejects.toThrow('already_consumed');
    expect(await store().records.find('Session', `follows${next}`)).toBeUndefined();
    next += 1;
    await consumeAndDestroy();
    expect(await store().records.find('Session', `follows${next}`)).toBeDefined();
    expect(await store().records.find('Session', `k${next}`)).toBeUndefined();
  });

  it.each(['saved', 'unsaved'])('what goes beside begins with what is %s, and once', async (how) => {
    const whole = createUnitOfWork(store(), () => NOW);
    let begun = 0;
    const work = whole.run(async () => {
      await whole.beside(async () => (begun += 1));
      await whole.save(session());
      expect(begun).toBe(0);
      if (how === 'unsaved') throw new Error('failed');
      await whole.flush();
      expect(begun).toBe(1);
    });
    await (how === 'unsaved' ? expect(work).rejects.toThrow('failed') : work);
    expect(begun).toBe(1);
  });

  it('who loses the race for a record asks the store again', async () => {
    await store().records.save(session());
    await records.run(async () => {
      await records.find('Session', `k${next}`);
      await store().records.consume('Session', `k${next}`);
      expect(await records.consume('Session', `k${next}`)).toBe('already_consumed');
      expect(await records.find('Session', `k${next}`)).toMatchObject({ consumedAt: NOW / 1000 });
    });
  });

  it.each(['is there', 'is not there'])('no later save restores a record that %s', async (how) => {
    if (how === 'is there') await store().records.save(session());
    await records.run(async () => {
      await records.destroy('Session', `k${next}`);
      expect(await records.save(session('late'))).toBe('ended');
      expect(await records.find('Session', `k${next}`)).toBeUndefined();
    });
    expect(await store().records.find('Session', `k${next}`)).toBeUndefined();
  });

  it('no save that follows takes the place of the mark of a record that ended', async () => {
    const alias = `a${next}`;
    await store().records.save({ ...session(), alias });
    await records.run(async () => {
      await records.find('Session', `k${next}`);
      await records.save({ ...session('{}'), alias, isConsumed: true });
      expect(await records.save({ ...session('late'), alias })).toBe('ended');
      expect(await records.find('Session', `k${next}`)).toMatchObject({
        payload: '{}',
        consumedAt: NOW / 1000,
      });
    });
    expect(await store().records.find('Session', `k${next}`)).toMatchObject({ consumedAt: NOW / 1000 });
    expect(await store().records.findByAlias('Session', alias)).toBeUndefined();
  });

  it('a document is read once, whatever is written meanwhile', async () => {
    await store().documents.put('c', `d${next}`, 'first', 0);
    await records.run(async () => {
      expect((await records.documents.get('c', `d${next}`))?.value).toBe('first');
      await store().documents.put('c', `d${next}`, 'second', 1);
      expect((await records.documents.get('c', `d${next}`))?.value).toBe('first');
    });
    expect((await records.documents.get('c', `d${next}`))?.value).toBe('second');
  });

  it('a grant is revoked once, and nothing of it is found any more', async () => {
    const grant = `g${next}`;
    await store().records.save({ ...session(), grant });
    await records.run(async () => {
      await records.find('Session', `k${next}`);
      await Promise.all([1, 2, 3].map(() => records.revokeGrant(grant, 60)));
      expect(await records.find('Session', `k${next}`)).toBeUndefined();
    });
    expect(counted.calls).toEqual(['Session.find', 'revokeGrant', 'Session.find']);
  });

  it('a second name is found among what was read, but never that of a record that ended', async () => {
    const alias = `a${next}`;
    await store().records.save({ ...session(), alias });
    await records.run(async () => {
      await records.find('Session', `k${next}`);
      expect(await records.findByAlias('Session', alias)).toMatchObject({ key: `k${next}` });
      await records.save({ ...session('{}'), isConsumed: true });
      await records.save({ ...session('new'), key: `n${next}`, alias, follows: `k${next}` });
      expect(await records.findByAlias('Session', alias)).toMatchObject({ key: `n${next}` });
    });
    expect(counted.calls.filter((call) => call === 'Session.findByAlias')).toHaveLength(1);
  });
});

it("a request fails when something can't be saved, and runs no follow-up", async () => {
  const heard: string[] = [];
  counted.records.save = () => Promise.reject(new StoreUnavailable());
  const work = records.run(async () => {
    await records.save(session());
    records.afterwards(() => heard.push('done'));
  });
  await expect(work).rejects.toThrow(StoreUnavailable);
  expect(heard).toEqual([]);
});

it('outside of a request it is the store itself, also for what goes on after the answer', async () => {
  await records.save(session());
  expect(await store().records.find('Session', `k${next}`)).toBeDefined();
  let release: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (release = resolve));
  let late: Promise<unknown> = Promise.resolve();
  await records.run(async () => {
    late = answered.then(() => records.save({ ...session(), key: `late${next}` }));
  });
  release();
  await late;
  expect(await store().records.find('Session', `late${next}`)).toBeDefined();
});
