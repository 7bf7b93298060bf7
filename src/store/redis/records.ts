// Records in Redis. No operation spans slots. What must hold between keys is held by the tombstone: it is written before anything
// is deleted, and reading believes it. A record, its place in the grant's index and its alias are written at once; should only
// some of them arrive, a record outside the index is dead with its grant all the same, and ends by its time to live.
import { toLifeMs } from '../lifetime.ts';
import { probe, type RedisConnection } from './connection.ts';
import { aliasKey, grantDeadKey, grantIndexKey, redisRecordKey } from './keys.ts';
import {
  type Clock,
  type ConsumeResult,
  GRANT,
  type NewRecord,
  type RecordStore,
  type SaveResult,
  type StoredRecord,
} from '../store.ts';

/** How many records of a revoked grant are deleted at once. */
const BATCH = 100;
/** What the consume script answers. */
const CONSUME_RESULTS: readonly ConsumeResult[] = ['gone', 'consumed', 'already_consumed'];

type Span = { readonly at: number; readonly lifeMs: number };
type Name = { readonly kind: string; readonly key: string };

export function createRedisRecords(connection: RedisConnection, now: Clock): RecordStore {
  return {
    save: (record) => save(connection, record, now()),

    find: (kind, key) => findRecord(connection, { kind, key }, now()),

    async findByAlias(kind, alias) {
      const pointer = aliasKey(kind, alias);
      const key = await connection.ask(pointer, (redis) => redis.get(pointer));
      if (key === null) return undefined;
      const record = await findRecord(connection, { kind, key }, now());
      // The record may have been saved again without the alias.
      return record?.alias === alias ? record : undefined;
    },

    async consume(kind, key, found) {
      const at = now();
      const id = redisRecordKey(kind, key);
      // Read before the mark is set, never after it: the second caller revokes the grant, but the first one has won.
      const live = found ?? (await findRecord(connection, { kind, key }, at));
      if (live === undefined) return 'gone';
      await probe(connection, id, 'u');
      const args = [at, Math.floor(at / 1000), live.grant ?? ''];
      const reply = await connection.confirm('consumeRecord', [id], args, (result) => result === 1);
      return CONSUME_RESULTS[Number(reply)] ?? 'gone';
    },

    async destroy(kind, key) {
      return (await drop(connection, { kind, key })) ? 'destroyed' : 'gone';
    },

    async revokeGrant(grant, ttlSeconds) {
      const members = await bury(connection, grant, { at: now(), lifeMs: toLifeMs(ttlSeconds) });
      // From here on, all records of the grant are invalid. The rest only deletes them, and a retry deletes what an outage left.
      for (let start = 0; start < members.length; start += BATCH) {
        const batch = members.slice(start, start + BATCH);
        await Promise.all(batch.map((member) => drop(connection, toName(member), grant)));
      }
      const index = grantIndexKey(grant);
      if (members.length > 0) await connection.ask(index, (redis) => redis.unlink(index));
    },
  };
}

async function save(connection: RedisConnection, record: NewRecord, at: number): Promise<SaveResult> {
  const { kind, key, grant = '' } = record;
  const span = { at, lifeMs: toLifeMs(record.ttlSeconds) };
  // In one round trip and, on a single connection, in this order.
  const [indexed, isAlive, hasAlias] = await Promise.all([
    grant === '' ||
      connection.run(
        'indexRecord',
        [grantIndexKey(grant), grantDeadKey(grant)],
        [at, at + span.lifeMs, `${kind}:${key}`],
      ),
    writeRecord(connection, record, span),
    record.alias === undefined || writeAlias(connection, record, span),
  ]);
  if (indexed !== true && indexed !== 1) {
    await drop(connection, record, grant);
    return 'grant_revoked';
  }
  if (isAlive && hasAlias) return 'saved';
  if (!isAlive && record.alias !== undefined)
    await connection.run('dropAlias', [aliasKey(kind, record.alias)], [key]);
  // Another record has already followed the same one, so no browser has the key of this one.
  if (!hasAlias && record.follows !== undefined) await drop(connection, record);
  return 'ended';
}

/** False: it is another record's. */
async function writeAlias(
  connection: RedisConnection,
  record: NewRecord,
  { at, lifeMs }: Span,
): Promise<boolean> {
  const { kind, key, alias = '', follows = '', isConsumed = false } = record;
  const pointer = aliasKey(kind, alias);
  const dropFrom = (holder: string) => connection.run('dropAlias', [pointer], [holder]);
  if (isConsumed) {
    await dropFrom(key);
    return true;
  }
  const take = async () => (await connection.run('takeAlias', [pointer], [key, follows, lifeMs])) === 1;
  if (await take()) return true;
  const holder = await connection.ask(pointer, (redis) => redis.get(pointer));
  if (holder === null || (await findRecord(connection, { kind, key: holder }, at))) return false;
  // It has expired by the caller's clock, or its grant is revoked.
  await dropFrom(holder);
  return take();
}

/** False: it was consumed before. */
async function writeRecord(
  connection: RedisConnection,
  { kind, key, payload, grant = '', alias = '', isConsumed, isConfirmed, isAwaited }: NewRecord,
  { at, lifeMs }: Span,
): Promise<boolean> {
  const id = redisRecordKey(kind, key);
  const consumedAt = isConsumed ? Math.floor(at / 1000) : '';
  const toArgs = (mark: string) => [at, payload, at + lifeMs, lifeMs, grant, alias, mark, consumedAt];
  if (!connection.isConfirmed || !(isConfirmed || isAwaited)) {
    return (await connection.run('saveRecord', [id], toArgs(''))) === 1;
  }
  const args = toArgs(isConfirmed ? 's' : '');
  const isAlive = (await connection.confirm('saveRecord', [id], args)) === 1;
  if (isConfirmed) await connection.run('settleRecord', [id], []);
  return isAlive;
}

async function findRecord(
  connection: RedisConnection,
  { kind, key }: Name,
  at: number,
): Promise<StoredRecord | undefined> {
  const id = redisRecordKey(kind, key);
  // A grant's own record says beforehand which tombstone to look for.
  const ahead = kind === GRANT ? isRevoked(connection, key, at) : undefined;
  // Where the record can't be read either, that failure is the one to report.
  ahead?.catch(() => undefined);
  const fields = await connection.ask(id, (redis) => redis.hmget(id, 'p', 'e', 'c', 'g', 'a', 'u'));
  if (fields[5]) await settleRecord(connection, id);
  const record = toLiveRecord(key, fields, at);
  if (record?.grant === undefined) return record;
  // A record that was written during the revocation of its grant still exists, but is invalid.
  const isDead = record.grant === key && ahead ? ahead : isRevoked(connection, record.grant, at);
  return (await isDead) ? undefined : record;
}

function toLiveRecord(
  key: string,
  [payload, ends, consumedAt, grant, alias]: readonly (string | null)[],
  at: number,
): StoredRecord | undefined {
  if (typeof payload !== 'string' || !(Number(ends) > at)) return undefined;
  return {
    key,
    payload,
    consumedAt: consumedAt ? Number(consumedAt) : undefined,
    grant: grant || undefined,
    alias: alias || undefined,
  };
}

/**
 * What ended something and no replica has confirmed is neither there nor gone: a request that meets it waits for a replica, or
 * rejects. Else the repeat of a revocation that was answered with 503 would find nothing to do and say that it is done.
 */
async function settleRecord(connection: RedisConnection, id: string): Promise<void> {
  await connection.confirm('touch', [id], ['u']);
  await connection.run('settleRecord', [id], []);
}

async function isRevoked(connection: RedisConnection, grant: string, at: number): Promise<boolean> {
  const tombstone = grantDeadKey(grant);
  const dead = await connection.ask(tombstone, (redis) => redis.get(tombstone));
  if (dead === null) return false;
  const ends = Number(dead.replace('?', ''));
  if (ends > at && dead.startsWith('?')) await bury(connection, grant, { at, lifeMs: ends - at });
  // One without an end stays.
  return !(ends <= at);
}

/** Writes the tombstone, and says who is to be deleted. */
async function bury(
  connection: RedisConnection,
  grant: string,
  { at, lifeMs }: Span,
): Promise<readonly string[]> {
  const keys = [grantIndexKey(grant), grantDeadKey(grant)];
  const args = [at + lifeMs, lifeMs, connection.isConfirmed ? '?' : ''];
  const members = await connection.confirm('buryGrant', keys, args);
  if (connection.isConfirmed) await connection.run('settleGrant', keys.slice(1), []);
  return members as readonly string[];
}

/**
 * Whether it was there, for one of several callers. With `onlyOf`, the record is left alone if it belongs to another grant by now. That
 * only cleans behind a tombstone, so no replica needs to confirm it.
 */
async function drop(connection: RedisConnection, { kind, key }: Name, onlyOf = ''): Promise<boolean> {
  const id = redisRecordKey(kind, key);
  const row = await dropRow(connection, id, onlyOf);
  const [grant = '', alias = '', mark] = row;
  const index = grantIndexKey(grant);
  await Promise.all([
    // The index of a grant that ended goes as a whole.
    grant !== '' && onlyOf === '' && connection.ask(index, (redis) => redis.zrem(index, `${kind}:${key}`)),
    alias !== '' && connection.run('dropAlias', [aliasKey(kind, alias)], [key]),
  ]);
  return row.length > 0 && mark !== 'd';
}

const hasItems = (reply: unknown) => Array.isArray(reply) && reply.length > 0;

async function dropRow(connection: RedisConnection, id: string, onlyOf: string): Promise<readonly string[]> {
  if (onlyOf !== '' || !connection.isConfirmed) {
    return (await connection.run('dropRecord', [id], [onlyOf, ''])) as readonly string[];
  }
  const row = (await connection.confirm('dropRecord', [id], ['', 'd'], hasItems)) as readonly string[];
  if (row.length > 0) await connection.run('settleRecord', [id], []);
  return row;
}

/** A member of an index. A kind holds no colon. */
function toName(member: string): Name {
  const colon = member.indexOf(':');
  return { kind: member.slice(0, colon), key: member.slice(colon + 1) };
}
