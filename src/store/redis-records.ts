// Records in Redis. No operation spans slots, so what must hold between keys is held by order: a grant's index before
// the record, the record before its alias, the tombstone before everything; and reading believes the tombstone.
import { toRecordId } from './key-name.ts';
import { readClock, toLifeMs } from './lifetime.ts';
import type { RedisConnection } from './redis-connection.ts';
import { aliasKey, grantDeadKey, grantIndexKey, recordKey } from './redis-keys.ts';
import { toBoolean, toNumber, toTexts } from './redis-replies.ts';
import type { Clock, ConsumeResult, NewRecord, RecordStore, StoredRecord } from './store.ts';

/** How many records of a revoked grant are deleted at once. */
const BATCH = 100;
/** What the consume script answers. */
const CONSUME_RESULTS: readonly ConsumeResult[] = ['gone', 'consumed', 'already_consumed'];

type Span = { readonly at: number; readonly lifeMs: number };
type Name = { readonly kind: string; readonly key: string };
type Row = StoredRecord & { readonly alias: string };

/** Records over `connection`, by the clock `now`. */
export function createRedisRecords(connection: RedisConnection, now: Clock): RecordStore {
  return {
    async save(record) {
      return save(connection, record, { at: readClock(now), lifeMs: toLifeMs(record.ttlSeconds) });
    },

    async find(kind, key) {
      return toStored(await findRow(connection, { kind, key }, readClock(now)));
    },

    async findByAlias(kind, alias) {
      const pointer = aliasKey(kind, alias);
      const key = await connection.ask(pointer, (redis) => redis.get(pointer));
      if (key === null) return undefined;
      const row = await findRow(connection, { kind, key }, readClock(now));
      // The record may have been saved again without the alias.
      return row?.alias === alias ? toStored(row) : undefined;
    },

    async consume(kind, key) {
      const at = readClock(now);
      const id = recordKey(toRecordId(kind, key));
      const grant = await connection.ask(id, (redis) => redis.hget(id, 'g'));
      if (grant === null) return 'gone';
      // Asked before the mark is set, never after it: whoever comes second revokes the grant, and the first has won.
      if (grant !== '' && (await isRevoked(connection, grant, at))) return 'gone';
      const claim = {
        script: 'consumeRecord',
        keys: [id],
        args: [at, Math.floor(at / 1000), grant],
      } as const;
      return toConsumeResult(
        await connection.confirm(claim, (reply) => toConsumeResult(reply) === 'consumed'),
      );
    },

    async destroy(kind, key) {
      await drop(connection, { kind, key });
    },

    async revokeGrant(grant, ttlSeconds) {
      await revoke(connection, grant, { at: readClock(now), lifeMs: toLifeMs(ttlSeconds) });
    },
  };
}

async function save(
  connection: RedisConnection,
  { kind, key, payload, grant = '', alias = '', isConfirmed = false }: NewRecord,
  { at, lifeMs }: Span,
): Promise<'saved' | 'grant_revoked'> {
  const id = toRecordId(kind, key);
  const ends = at + lifeMs;
  if (grant !== '') {
    // Never the other way round: a live record outside the index can't be deleted with its grant.
    const keys = [grantIndexKey(grant), grantDeadKey(grant)];
    const isAdded = toBoolean(await connection.run('indexRecord', keys, [at, ends, `${kind}:${key}`]));
    if (!isAdded) return 'grant_revoked';
  }
  const keys = [recordKey(id)];
  const args = [at, payload, ends, lifeMs, grant, alias];
  if (isConfirmed && connection.isConfirmed) {
    await connection.confirm({ script: 'saveRecord', keys, args: [...args, 's'] });
    await connection.run('settleRecord', keys, []);
  } else await connection.run('saveRecord', keys, [...args, '']);
  // After the record: until then the alias finds the record before this one, not nothing.
  if (alias !== '') {
    const pointer = aliasKey(kind, alias);
    await connection.ask(pointer, (redis) => redis.set(pointer, key, 'PX', lifeMs));
  }
  return 'saved';
}

function toConsumeResult(reply: unknown): ConsumeResult {
  return CONSUME_RESULTS[toNumber(reply)] ?? 'gone';
}

async function findRow(
  connection: RedisConnection,
  { kind, key }: Name,
  at: number,
): Promise<Row | undefined> {
  const id = recordKey(toRecordId(kind, key));
  const [payload, ends, consumedAt, grant, alias, pending] = await connection.ask(id, (redis) =>
    redis.hmget(id, 'p', 'e', 'c', 'g', 'a', 'u'),
  );
  if (pending) await settleRecord(connection, id);
  if (typeof payload !== 'string' || Number(ends) <= at) return undefined;
  // A record that was written while its grant was being revoked is still there, and dead.
  if (grant && (await isRevoked(connection, grant, at))) return undefined;
  return { key, payload, alias: alias ?? '', consumedAt: consumedAt ? Number(consumedAt) : undefined };
}

function toStored(row: Row | undefined): StoredRecord | undefined {
  return row && { key: row.key, payload: row.payload, consumedAt: row.consumedAt };
}

/**
 * What ended something and no replica has confirmed is neither there nor gone: whoever meets it waits for a replica, or
 * rejects. Else the repeat of a revocation that was answered with 503 would find nothing to do and say that it is done.
 */
async function settleRecord(connection: RedisConnection, id: string): Promise<void> {
  await connection.confirm({ script: 'touchRecord', keys: [id], args: [] });
  await connection.run('settleRecord', [id], []);
}

async function isRevoked(connection: RedisConnection, grant: string, at: number): Promise<boolean> {
  const tombstone = grantDeadKey(grant);
  const dead = await connection.ask(tombstone, (redis) => redis.get(tombstone));
  if (dead === null) return false;
  const ends = Number(dead.replace('?', ''));
  if (ends > at && dead.startsWith('?')) await bury(connection, grant, { at, lifeMs: ends - at });
  return ends > at;
}

/** Writes the tombstone, and says who is to be deleted. */
async function bury(
  connection: RedisConnection,
  grant: string,
  { at, lifeMs }: Span,
): Promise<readonly string[]> {
  const keys = [grantIndexKey(grant), grantDeadKey(grant)];
  const args = [at + lifeMs, lifeMs, connection.isConfirmed ? '?' : ''];
  const members = toTexts(await connection.confirm({ script: 'buryGrant', keys, args }));
  await connection.run('settleGrant', keys.slice(1), []);
  return members;
}

/**
 * With `onlyOf`, the record is left alone if it belongs to another grant by now: that is cleaning behind a tombstone, so no
 * replica needs to confirm it.
 */
async function drop(connection: RedisConnection, { kind, key }: Name, onlyOf = ''): Promise<void> {
  const id = recordKey(toRecordId(kind, key));
  const row = await dropRow(connection, id, onlyOf);
  const [grant = '', alias = ''] = row;
  const index = grantIndexKey(grant);
  await Promise.all([
    grant !== '' && connection.ask(index, (redis) => redis.zrem(index, `${kind}:${key}`)),
    alias !== '' && connection.run('dropAlias', [aliasKey(kind, alias)], [key]),
  ]);
}

async function dropRow(connection: RedisConnection, id: string, onlyOf: string): Promise<readonly string[]> {
  if (onlyOf !== '' || !connection.isConfirmed) {
    return toTexts(await connection.run('dropRecord', [id], [onlyOf, '']));
  }
  const write = { script: 'dropRecord', keys: [id], args: ['', 'd'] } as const;
  const row = toTexts(await connection.confirm(write, (reply) => toTexts(reply).length > 0));
  if (row.length > 0) await connection.run('settleRecord', [id], []);
  return row;
}

async function revoke(connection: RedisConnection, grant: string, span: Span): Promise<void> {
  const members = await bury(connection, grant, span);
  // From here on everything is dead; the rest only cleans up, and a repeat finds what an outage left behind.
  for (let start = 0; start < members.length; start += BATCH) {
    const batch = members.slice(start, start + BATCH);
    await Promise.all(batch.map((member) => drop(connection, toName(member), grant)));
  }
  const index = grantIndexKey(grant);
  if (members.length > 0) await connection.ask(index, (redis) => redis.unlink(index));
}

/** A member of an index. A kind holds no colon. */
function toName(member: string): Name {
  const colon = member.indexOf(':');
  return { kind: member.slice(0, colon), key: member.slice(colon + 1) };
}
