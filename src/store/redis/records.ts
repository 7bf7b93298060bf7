// Records in Redis. No operation spans slots. The tombstone keeps the keys consistent: it is written before anything is deleted, and every
// read checks it. A record, its entry in the grant's index and its alias are written at once. A record outside the index is still invalid
// once its grant is revoked, and expires by its time to live.
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
/** The results of the consume script, by number. */
const CONSUME_RESULTS: readonly ConsumeResult[] = ['gone', 'consumed', 'already_consumed'];

type Span = Readonly<{ at: number; lifeMs: number }>;
type Name = Readonly<{ kind: string; key: string }>;

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

/** False: another record has the alias. */
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
  // The holder has expired by the caller's clock, or its grant is revoked.
  await dropFrom(holder);
  return take();
}

/** False: the record was consumed before. */
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
  // The key of a grant's own record names the tombstone, so both are read at once.
  const ahead = kind === GRANT ? isRevoked(connection, key, at) : undefined;
  // If the record can't be read either, that failure is reported.
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
 * Settles a revocation that the replicas haven't confirmed: a request that reads the record waits for them, or rejects.
 * Otherwise the retry of a revocation that was answered with 503 would find nothing to do and report success.
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
  // A tombstone without an end stays valid.
  return !(ends <= at);
}

/** Resolves with the records to delete. */
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
 * Deletes a record. Resolves with true for one of several callers. With `onlyOf`, a record that belongs to another grant by now stays.
 * That only cleans up after a tombstone, so no replica needs to confirm it.
 */
async function drop(connection: RedisConnection, { kind, key }: Name, onlyOf = ''): Promise<boolean> {
  const id = redisRecordKey(kind, key);
  const row = await dropRow(connection, id, onlyOf);
  const [grant = '', alias = '', mark] = row;
  const index = grantIndexKey(grant);
  await Promise.all([
    // The index of a revoked grant is deleted as a whole.
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

/** Parses a member of an index. A kind has no colon. */
function toName(member: string): Name {
  const colon = member.indexOf(':');
  return { kind: member.slice(0, colon), key: member.slice(colon + 1) };
}
