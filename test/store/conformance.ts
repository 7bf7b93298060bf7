// The contract of every store, run on each implementation with its real server or disk. Tests of what only
// one implementation can do are in its own file.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock, DocumentPage, IndexEntry, IndexRange, NewRecord, Store } from '../../src/store/store.ts';
import { rounds } from '../world/rounds.ts';

/** Opens one more instance over the same data. */
export type StoreOpener = (now: Clock) => Promise<Store>;

const START = 1_800_000_000_000;
const RACES = rounds(1000, 100);

/** A clock that tests move forwards. */
export function createClock(): { now: Clock; forward(ms: number): void } {
  let time = START;
  return {
    now: () => time,
    forward(ms) {
      time += ms;
    },
  };
}

/** A name that no other test uses. */
export function uniqueName(): string {
  return randomBytes(32).toString('base64url');
}

/** The whole suite: calls `open` four times; all instances must agree. */
export function testStore(open: StoreOpener): void {
  const clock = createClock();
  const stores: Store[] = [];

  beforeAll(async () => {
    for (let count = 0; count < 4; count++) stores.push(await open(clock.now));
  });
  afterAll(() => Promise.all(stores.map((store) => store.close())));

  /** One of the four instances, in turn. */
  function at(index: number): Store {
    const store = stores[index % stores.length];
    if (store === undefined) throw new Error('not opened');
    return store;
  }

  const parts = { at, clock } satisfies Parts;
  describe('records', () => testRecords(parts));
  describe('consume', () => testConsume(parts));
  describe('aliases', () => testAliases(parts));
  describe('grants', () => testGrants(parts));
  describe('documents', () => testDocuments(parts));
  describe('index', () => testIndex(parts));
  describe('counters', () => testCounters(parts));

  it('answers a ping', async () => {
    await expect(at(0).ping()).resolves.toBeUndefined();
  });
}

type Parts = { readonly at: (index: number) => Store; readonly clock: ReturnType<typeof createClock> };

function record(fields: Partial<NewRecord> = {}): NewRecord {
  return { kind: 'AccessToken', key: uniqueName(), payload: '{"v":1}', ttlSeconds: 60, ...fields };
}

function session(fields: Partial<NewRecord>): NewRecord {
  return record({ kind: 'Session', ...fields });
}

function testRecords({ at, clock }: Parts): void {
  it('finds on every instance what one has saved', async () => {
    const saved = record({ payload: '{"text":"ü \\u0000 \u{1F600} %d %s"}' });
    expect(await at(0).records.save(saved)).toBe('saved');
    for (const index of [0, 1, 2, 3]) {
      expect(await at(index).records.find(saved.kind, saved.key)).toEqual({
        key: saved.key,
        payload: saved.payload,
        consumedAt: undefined,
      });
    }
  });

  it('never shows a mixture when two instances save the same key at once', async () => {
    const { key, kind } = record();
    const payloads = Array.from({ length: 40 }, (_, index) => String(index).repeat(2000));
    await Promise.all(payloads.map((payload, index) => at(index).records.save(record({ key, payload }))));
    expect(payloads).toContain((await at(0).records.find(kind, key))?.payload);
  });

  it('hides a record from the millisecond its time is over', async () => {
    const saved = record({ ttlSeconds: 10 });
    await at(0).records.save(saved);
    clock.forward(9_999);
    expect(await at(1).records.find(saved.kind, saved.key)).toBeDefined();
    clock.forward(1);
    expect(await at(1).records.find(saved.kind, saved.key)).toBeUndefined();
  });

  const NO_TTL = [0, -1, Number.NaN, undefined, 1.5, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER];
  it.each(NO_TTL)('refuses a time to live of %s (RD-04)', async (ttlSeconds) => {
    const refused = record({ ttlSeconds: ttlSeconds as number });
    await expect(at(0).records.save(refused)).rejects.toThrow(TypeError);
    await expect(at(0).records.revokeGrant(uniqueName(), ttlSeconds as number)).rejects.toThrow(TypeError);
    expect(await at(0).records.find(refused.kind, refused.key)).toBeUndefined();
  });

  it('destroys a record, twice without complaint', async () => {
    const saved = record();
    await at(0).records.save(saved);
    await at(1).records.destroy(saved.kind, saved.key);
    await at(1).records.destroy(saved.kind, saved.key);
    expect(await at(0).records.find(saved.kind, saved.key)).toBeUndefined();
  });

  it('says to one of many who destroy a record at once that it was there', async () => {
    const saved = record();
    await at(0).records.save(saved);
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) => at(index).records.destroy(saved.kind, saved.key)),
    );
    expect(results.filter((result) => result === 'destroyed')).toHaveLength(1);
    expect(await at(0).records.destroy(saved.kind, uniqueName())).toBe('gone');
  });

  it('says what a found record belongs to', async () => {
    const saved = record({ grant: uniqueName(), alias: uniqueName() });
    await at(0).records.save(saved);
    const found = await at(1).records.find(saved.kind, saved.key);
    expect(found).toMatchObject({ grant: saved.grant, alias: saved.alias });
  });

  it('finds a record of the kind Grant by the grant that it belongs to, also where that is another one', async () => {
    const [alive, dead] = [uniqueName(), uniqueName()];
    const own = [alive, dead].map((grant) => record({ kind: 'Grant', key: grant, grant }));
    const [ofDead, ofLiving] = [
      record({ kind: 'Grant', grant: dead }),
      record({ kind: 'Grant', key: dead, grant: alive }),
    ];
    for (const one of [...own, ofDead]) await at(0).records.save(one);
    await at(0).records.revokeGrant(dead, 100);
    const isFound = async (key: string) => (await at(1).records.find('Grant', key)) !== undefined;
    expect([await isFound(alive), await isFound(dead), await isFound(ofDead.key)]).toEqual([
      true,
      false,
      false,
    ]);
    await at(0).records.save(ofLiving);
    expect(await isFound(dead)).toBe(true);
    await at(0).records.revokeGrant(alive, 100);
    expect(await isFound(dead)).toBe(false);
  });

  const ODD_KEYS = [
    '*',
    '{tag}x',
    'a\r\nFLUSHALL\r\n',
    'x'.repeat(50_000),
    '',
    '\u0000',
    '../../etc/passwd',
    '#',
  ];
  it.each(ODD_KEYS)('takes any text for a key and touches nothing else (IN-13, case %#)', async (text) => {
    const bystander = record();
    await at(0).records.save(bystander);
    const odd = record({ key: text, grant: `g${text}`, alias: `a${text}` });
    expect(await at(0).records.save(odd)).toBe('saved');
    expect((await at(1).records.find(odd.kind, text))?.key).toBe(text);
    expect((await at(1).records.findByAlias(odd.kind, `a${text}`))?.key).toBe(text);
    await at(1).records.revokeGrant(`g${text}`, 100);
    expect(await at(0).records.find(odd.kind, text)).toBeUndefined();
    expect(await at(0).records.find(bystander.kind, bystander.key)).toBeDefined();
    clock.forward(101_000);
  });
}

function testConsume({ at, clock }: Parts): void {
  it('has one winner among 100 parallel callers on four instances (RD-01)', async () => {
    for (let round = 0; round < 5; round++) {
      const saved = record({ kind: 'AuthorizationCode', grant: round % 2 === 0 ? uniqueName() : undefined });
      await at(0).records.save(saved);
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, index) => at(index).records.consume(saved.kind, saved.key)),
      );
      expect(results.filter((result) => result === 'consumed')).toHaveLength(1);
      expect(results.filter((result) => result === 'already_consumed')).toHaveLength(99);
    }
  });

  it('has that one winner even when every loser revokes the grant at once (RD-01)', async () => {
    for (let round = 0; round < 60; round++) {
      const grant = uniqueName();
      const saved = record({ kind: 'AuthorizationCode', grant });
      await at(round).records.save(saved);
      const claim = async (index: number) => {
        const result = await at(index).records.consume(saved.kind, saved.key);
        if (result !== 'consumed') await at(index).records.revokeGrant(grant, 3600);
        return result;
      };
      const results = await Promise.all([0, 1, 2, 3].map(claim));
      expect(results.filter((result) => result === 'consumed')).toHaveLength(1);
    }
  });

  it('marks the record with the second of the clock and keeps the payload', async () => {
    const saved = record();
    await at(0).records.save(saved);
    const consumedAt = Math.floor(clock.now() / 1000);
    expect(await at(0).records.consume(saved.kind, saved.key)).toBe('consumed');
    expect(await at(1).records.find(saved.kind, saved.key)).toEqual({
      key: saved.key,
      payload: saved.payload,
      consumedAt,
    });
  });

  it('is gone after expiry, and does not bring the key back (RD-02)', async () => {
    const saved = record({ ttlSeconds: 10 });
    await at(0).records.save(saved);
    clock.forward(10_000);
    expect(await at(1).records.consume(saved.kind, saved.key)).toBe('gone');
    expect(await at(1).records.consume(saved.kind, uniqueName())).toBe('gone');
    expect(await at(0).records.find(saved.kind, saved.key)).toBeUndefined();
  });

  it('stays consumed when the record is saved again', async () => {
    const saved = record();
    await at(0).records.save(saved);
    await at(0).records.consume(saved.kind, saved.key);
    await at(1).records.save({ ...saved, payload: 'again' });
    expect(await at(2).records.find(saved.kind, saved.key)).toMatchObject({
      payload: 'again',
      consumedAt: expect.any(Number) as number,
    });
    expect(await at(3).records.consume(saved.kind, saved.key)).toBe('already_consumed');
  });

  it('may be saved as consumed, and what was consumed first keeps its time', async () => {
    const [ended, consumed] = [record({ isConsumed: true }), record()];
    const second = Math.floor(clock.now() / 1000);
    await at(0).records.save(ended);
    await at(0).records.save(consumed);
    await at(0).records.consume(consumed.kind, consumed.key);
    clock.forward(5_000);
    await at(1).records.save({ ...consumed, isConsumed: true });
    for (const { kind, key } of [ended, consumed]) {
      expect((await at(2).records.find(kind, key))?.consumedAt).toBe(second);
      expect(await at(3).records.consume(kind, key)).toBe('already_consumed');
    }
    await at(1).records.save({ ...ended, isConsumed: undefined, payload: 'again' });
    expect(await at(2).records.consume(ended.kind, ended.key)).toBe('already_consumed');
  });

  it('takes the word of who has just read the record, but not for another one', async () => {
    const [mine, other] = [record({ grant: uniqueName() }), record({ grant: uniqueName() })];
    await at(0).records.save(mine);
    await at(0).records.save(other);
    const known = await at(1).records.find(mine.kind, mine.key);
    expect(await at(1).records.consume(other.kind, other.key, known)).not.toBe('already_consumed');
    const results = await Promise.all(
      [0, 1, 2, 3].map((index) => at(index).records.consume(mine.kind, mine.key, known)),
    );
    expect(results.filter((result) => result === 'consumed')).toHaveLength(1);
  });

  it('loses no mark to a save that races it', async () => {
    for (let round = 0; round < 50; round++) {
      const saved = record();
      await at(0).records.save(saved);
      const [first] = await Promise.all([
        at(1).records.consume(saved.kind, saved.key),
        at(2).records.save({ ...saved, payload: 'again' }),
      ]);
      expect([first, await at(3).records.consume(saved.kind, saved.key)]).toEqual([
        'consumed',
        'already_consumed',
      ]);
    }
  });
}

function testAliases({ at, clock }: Parts): void {
  let alias: string;
  beforeEach(() => {
    alias = uniqueName();
  });

  it('finds a record by its alias, within its kind only', async () => {
    const saved = session({ alias });
    await at(0).records.save(saved);
    expect((await at(1).records.findByAlias('Session', alias))?.key).toBe(saved.key);
    expect(await at(1).records.findByAlias('Interaction', alias)).toBeUndefined();
    expect(await at(1).records.find('Session', alias)).toBeUndefined();
  });

  it('goes to the one record that follows, and never back', async () => {
    const old = session({ alias });
    const rivals = [1, 2, 3, 4].map(() => session({ alias, follows: old.key }));
    await at(0).records.save(old);
    const results = await Promise.all(
      rivals.flatMap((rival, index) => [at(index).records.save(rival), at(index + 1).records.save(old)]),
    );
    const won = results.filter((_, index) => index % 2 === 0);
    expect(won.toSorted()).toEqual(['ended', 'ended', 'ended', 'saved']);
    const heir = rivals[won.indexOf('saved')]?.key;
    for (const late of [old, { ...old, isConsumed: true }, old, session({ alias })]) {
      await at(1).records.save(late);
      expect((await at(0).records.findByAlias('Session', alias))?.key).toBe(heir);
    }
    expect(await at(1).records.save(old)).toBe('ended');
    for (const { key } of rivals)
      expect((await at(2).records.find('Session', key)) !== undefined).toBe(key === heir);
  });

  it('is nobody’s once its record has ended, whatever is saved late', async () => {
    const ended = session({ alias });
    await at(0).records.save(ended);
    expect(await at(1).records.save({ ...ended, isConsumed: true })).toBe('saved');
    expect(await at(2).records.save(ended)).toBe('ended');
    expect(await at(2).records.save(session({ alias, follows: ended.key }))).toBe('ended');
    expect(await at(3).records.findByAlias('Session', alias)).toBeUndefined();
  });

  it('expires with its record and dies with its grant', async () => {
    const [expiring, granted] = [session({ alias, ttlSeconds: 5 }), session({ alias, grant: uniqueName() })];
    await at(0).records.save(expiring);
    clock.forward(5_000);
    expect(await at(0).records.findByAlias('Session', alias)).toBeUndefined();
    await at(0).records.save(granted);
    await at(0).records.revokeGrant(granted.grant ?? '', 100);
    expect(await at(1).records.findByAlias('Session', alias)).toBeUndefined();
  });
}

function testGrants({ at, clock }: Parts): void {
  let grant: string;
  beforeEach(() => {
    grant = uniqueName();
  });

  it('kills every record of the grant, of every kind, and no other', async () => {
    const kinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'Grant'];
    const mine = kinds.flatMap((kind) => Array.from({ length: 60 }, () => record({ kind, grant })));
    const others = [record({ grant: uniqueName() }), record()];
    await Promise.all([...mine, ...others].map((each, index) => at(index).records.save(each)));
    await at(1).records.revokeGrant(grant, 3600);
    for (const each of mine) {
      expect(await at(2).records.find(each.kind, each.key)).toBeUndefined();
      expect(await at(2).records.consume(each.kind, each.key)).toBe('gone');
    }
    for (const each of others) expect(await at(2).records.find(each.kind, each.key)).toBeDefined();
  });

  it('refuses what comes after the revocation, and may be repeated', async () => {
    await at(0).records.revokeGrant(grant, 3600);
    await at(1).records.revokeGrant(grant, 3600);
    const late = record({ grant });
    expect(await at(2).records.save(late)).toBe('grant_revoked');
    expect(await at(3).records.find(late.kind, late.key)).toBeUndefined();
  });

  it('remembers the longest of several revocations, then forgets', async () => {
    await at(0).records.revokeGrant(grant, 100);
    await at(1).records.revokeGrant(grant, 10);
    clock.forward(50_000);
    expect(await at(0).records.save(record({ grant }))).toBe('grant_revoked');
    clock.forward(50_000);
    expect(await at(0).records.save(record({ grant }))).toBe('saved');
  });

  it(`wins over every save that races it, in ${RACES} rounds (RD-09)`, async () => {
    for (let round = 0; round < RACES; round++) {
      const raced = uniqueName();
      const racers = Array.from({ length: 4 }, () => record({ grant: raced }));
      const saves = racers.map((racer, index) => at(index).records.save(racer));
      const revoke = at(round).records.revokeGrant(raced, 3600);
      saves.push(...racers.map((racer, index) => at(index + 1).records.save(racer)));
      await Promise.all([...saves, revoke]);
      const found = await Promise.all(
        racers.map((racer, index) => at(index).records.find(racer.kind, racer.key)),
      );
      expect(found).toEqual([undefined, undefined, undefined, undefined]);
    }
  });

  it('leaves a record alone that has moved to another grant', async () => {
    const saved = record({ grant });
    await at(0).records.save(saved);
    await at(0).records.save({ ...saved, grant: uniqueName() });
    await at(1).records.revokeGrant(grant, 3600);
    expect(await at(0).records.find(saved.kind, saved.key)).toBeDefined();
  });
}

function testDocuments({ at }: Parts): void {
  let collection: string;
  beforeEach(() => {
    collection = uniqueName();
  });

  it('counts versions from 1 and finds on every instance what one has put', async () => {
    const { documents } = at(0);
    expect(await documents.get(collection, 'a')).toBeUndefined();
    expect(await documents.put(collection, 'a', 'one', 0)).toBe(true);
    expect(await documents.put(collection, 'a', 'two words\u0000\n', 1)).toBe(true);
    expect(await at(1).documents.get(collection, 'a')).toEqual({
      id: 'a',
      value: 'two words\u0000\n',
      version: 2,
    });
  });

  it('refuses every version but the current one', async () => {
    const { documents } = at(0);
    await documents.put(collection, 'a', 'one', 0);
    for (const stale of [0, 2, -1]) {
      expect(await documents.put(collection, 'a', 'stale', stale)).toBe(false);
      expect(await documents.remove(collection, 'a', stale)).toBe(false);
    }
    expect(await documents.put(collection, 'b', 'absent', 1)).toBe(false);
    expect(await documents.remove(collection, 'b', 0)).toBe(false);
    expect(await at(1).documents.list(collection)).toEqual([{ id: 'a', value: 'one', version: 1 }]);
  });

  it('has one winner among 100 parallel creations on four instances', async () => {
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) => at(index).documents.put(collection, 'a', String(index), 0)),
    );
    expect(results.filter(Boolean)).toHaveLength(1);
    const winner = results.indexOf(true);
    expect(await at(0).documents.get(collection, 'a')).toEqual({
      id: 'a',
      value: String(winner),
      version: 1,
    });
  });

  it('lists a collection by id, and only that one', async () => {
    const ids = ['b', 'a', 'c@example.com', 'ü ', 'x'.repeat(3000)];
    for (const id of ids) await at(0).documents.put(collection, id, id, 0);
    await at(0).documents.put(`${collection}2`, 'z', 'z', 0);
    expect((await at(1).documents.list(collection)).map(({ id }) => id)).toEqual(ids.toSorted());
    expect(await at(1).documents.list(uniqueName())).toEqual([]);
  });

  it('reads many at once, in the order of their ids, and a collection page by page', async () => {
    const ids = Array.from({ length: 1200 }, (_, number) => (number % 3 ? `id ${number}` : `${number}`));
    await Promise.all(ids.map((id) => at(0).documents.put(collection, id, `of ${id}`, 0)));
    await at(0).documents.put(`${collection}2`, 'z', 'z', 0);
    const some = await at(1).documents.getAll(collection, ['9', 'none', 'id 7', '9']);
    expect(some.map((document) => document?.value)).toEqual(['of 9', undefined, 'of id 7', 'of 9']);
    expect(await at(1).documents.getAll(collection, [])).toEqual([]);
    const found = new Set<string>();
    for (let cursor: string | undefined, turn = 0; turn === 0 || cursor !== undefined; turn += 1) {
      const page: DocumentPage = await at(turn).documents.page(collection, cursor);
      for (const { id, value } of page.documents)
        expect([found.add(id).has(id), value]).toEqual([true, `of ${id}`]);
      expect(page.documents.length).toBeLessThan(ids.length);
      cursor = page.next;
    }
    expect([...found].toSorted()).toEqual(ids.toSorted());
  });

  it('writes several at once, and none of them where one is not as expected', async () => {
    const { documents } = at(0);
    const write = (id: string, value: string, expectedVersion: number) => ({ id, value, expectedVersion });
    await documents.put(collection, 'a', 'one', 0);
    const stale = [write('b', 'two', 0), write('a', 'three', 0)];
    expect(await documents.putAll(collection, stale)).toBe(false);
    expect(await at(1).documents.list(collection)).toEqual([{ id: 'a', value: 'one', version: 1 }]);
    expect(await documents.putAll(collection, [write('b', 'two', 0), write('a', 'three', 1)])).toBe(true);
    expect(await at(1).documents.list(collection)).toEqual([
      { id: 'a', value: 'three', version: 2 },
      { id: 'b', value: 'two', version: 1 },
    ]);
  });
}

function testIndex({ at }: Parts): void {
  let index: string;
  beforeEach(() => {
    index = uniqueName();
  });
  const sorts = async (range: Omit<IndexRange, 'limit'> = {}, limit = 100) =>
    (await at(3).index.page(index, { ...range, limit })).map(({ sort }) => sort);

  it('has its entries in the order of code points, on every instance, and no other index’s', async () => {
    // UTF-16 has the last two in the opposite order.
    const ordered = ['', ' ', '#', 'a', 'a b', 'aa', 'ab', 'a\u00e9', 'b', '\u7fff', '\uffee', '\u{1f600}'];
    for (const sort of ordered.toReversed()) expect(await at(1).index.put(index, sort, 'id')).toBe(true);
    await at(2).index.put(`${index}x`, 'a', 'id');
    expect(await sorts()).toEqual(ordered);
    expect(await at(0).index.page(uniqueName(), { limit: 10 })).toEqual([]);
  });

  it('tells an entry that is new from one that is there, and takes several at once', async () => {
    const entries = ['a', 'b', 'b'].map((sort, number) => ({ sort, id: String(number) }));
    expect(await at(0).index.putAll(index, entries.slice(0, 2))).toBe(2);
    expect(await at(1).index.putAll(index, entries)).toBe(1);
    expect(await at(1).index.putAll(index, [])).toBe(0);
    expect(await at(2).index.put(index, 'a', '0')).toBe(false);
    expect(await at(3).index.page(index, { limit: 10 })).toEqual(entries);
    await at(0).index.remove(index, 'b', '1');
    await at(1).index.remove(index, 'b', '1');
    expect(await at(2).index.page(index, { limit: 10 })).toEqual([entries[0], entries[2]]);
  });

  it.each<[Omit<IndexRange, 'limit'>, readonly string[]]>([
    [{ prefix: 'an' }, ['an', 'ana', 'anb']],
    [{ prefix: 'an', after: { sort: 'an' } }, ['ana', 'anb']],
    [{ prefix: 'an', after: { sort: 'a' } }, ['an', 'ana', 'anb']],
    [{ prefix: 'an', after: { sort: 'b' } }, []],
    [{ after: { sort: 'ana' } }, ['anb', 'b']],
    [{ after: { sort: 'ana', id: 'anz' } }, ['anb', 'b']],
    [{ after: { sort: 'ana', id: 'an' } }, ['ana', 'anb', 'b']],
    [{ after: { sort: 'am' } }, ['an', 'ana', 'anb', 'b']],
    [{ prefix: 'c' }, []],
  ])('of %j has %j', async (range, expected) => {
    for (const sort of ['b', 'anb', 'an', 'ana', 'a']) await at(0).index.put(index, sort, sort);
    expect(await sorts(range)).toEqual(expected);
  });

  it('is read page by page, also where many entries have one sort', async () => {
    const entries = Array.from({ length: 250 }, (_, id) => ({ sort: 'x'.repeat(id % 2), id: String(id) }));
    await at(0).index.putAll(index, entries);
    const found: IndexEntry[] = [];
    for (let page: readonly IndexEntry[]; (page = await nextPage()).length > 0;) found.push(...page);
    expect(new Set(found.map(({ id }) => id)).size).toBe(250);
    expect(found).toHaveLength(250);
    function nextPage() {
      const after = found.at(-1);
      return at(found.length).index.page(index, { limit: 7, ...(after && { after }) });
    }
  });

  it('refuses what no key holds, and takes what is as long as it may be', async () => {
    for (const sort of ['a\u0000b', '\ud800', 'x'.repeat(1501)])
      await expect(at(0).index.put(index, sort, 'id')).rejects.toThrow(TypeError);
    await expect(at(0).index.put(index, 'a', 'i\u0000d')).rejects.toThrow(TypeError);
    const longest = 'x'.repeat(1497);
    await at(0).index.put(index, longest, 'id');
    expect(await sorts({ prefix: longest })).toEqual([longest]);
  });
}

function testCounters({ at, clock }: Parts): void {
  let key: string;
  beforeEach(() => {
    key = `token:client:${uniqueName()}`;
  });

  it('counts 200 parallel increments on four instances exactly', async () => {
    const counts = await Promise.all(
      Array.from({ length: 200 }, (_, index) => at(index).counters.increment(key, 1, 60_000)),
    );
    expect(new Set(counts.map(({ count }) => count)).size).toBe(200);
    expect(await at(0).counters.read(key)).toEqual({ count: 200, resetsInMs: 60_000 });
  });

  it('ends its window by the clock, from the first hit', async () => {
    expect(await at(0).counters.increment(key, 2, 10_000)).toEqual({ count: 2, resetsInMs: 10_000 });
    clock.forward(9_999);
    expect(await at(1).counters.increment(key, 1, 10_000)).toEqual({ count: 3, resetsInMs: 1 });
    clock.forward(1);
    expect(await at(0).counters.read(key)).toBeUndefined();
    expect(await at(1).counters.increment(key, 1, 10_000)).toEqual({ count: 1, resetsInMs: 10_000 });
  });

  it('with `renew`, ends its window that long after the last hit', async () => {
    await at(0).counters.increment(key, 2, 10_000, true);
    clock.forward(9_999);
    expect(await at(1).counters.increment(key, 1, 10_000, true)).toEqual({ count: 3, resetsInMs: 10_000 });
    clock.forward(9_999);
    expect(await at(0).counters.increment(key, -1, 10_000, true)).toEqual({ count: 2, resetsInMs: 1 });
    expect(await at(0).counters.read(key)).toEqual({ count: 2, resetsInMs: 1 });
    clock.forward(1);
    expect(await at(0).counters.read(key)).toBeUndefined();
  });

  it('gives back, never below zero, and never opens a window by it', async () => {
    await at(0).counters.increment(key, 2, 10_000);
    expect(await at(0).counters.increment(key, -1, 10_000)).toMatchObject({ count: 1 });
    expect(await at(0).counters.increment(key, -5, 10_000)).toMatchObject({ count: 0 });
    clock.forward(10_000);
    expect(await at(0).counters.increment(key, -1, 10_000)).toEqual({ count: 0, resetsInMs: 0 });
    expect(await at(0).counters.read(key)).toBeUndefined();
  });

  it('removes a count', async () => {
    await at(0).counters.increment(key, 1, 60_000);
    await at(1).counters.remove(key);
    await at(1).counters.remove(key);
    expect(await at(0).counters.read(key)).toBeUndefined();
  });
}
