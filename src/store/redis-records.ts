// Records in Redis. No operation spans slots, so what must hold between keys is held by order: a grant's index before
// the record, the record before its alias, the tombstone before everything; and reading believes the tombstone.
import { toRecordId } from './key-name.ts';
import { readClock, toLifeMs } from './lifetime.ts';
import type { RedisConnection } from './redis-connection.ts';
import { aliasKey, grantDeadKey, grantIndexKey, recordKey } from './redis-keys.ts';
import { toBoolean, toNumberAndText, toTexts } from './redis-replies.ts';
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
      const key = await connection.ask((redis) => redis.get(aliasKey(kind, alias)));
      if (key === null) return undefined;
      const row = await findRow(connection, { kind, key }, readClock(now));
      // The record may have been saved again without the alias.
      return row?.alias === alias ? toStored(row) : undefined;
    },

    async consume(kind, key) {
      const at = readClock(now);
      const claim = async (knownGrant: string) =>
        toNumberAndText(
          await connection.run(
            'consumeRecord',
            [recordKey(toRecordId(kind, key))],
            [at, Math.floor(at / 1000), knownGrant],
          ),
        );
      const [status, grant] = await claim('');
      if (grant === '') return CONSUME_RESULTS[status] ?? 'gone';
      // Asked before the mark is set, never after it: whoever comes second revokes the grant, and the first has won.
      if (await isRevoked(connection, grant, at)) return 'gone';
      return CONSUME_RESULTS[(await claim(grant))[0]] ?? 'gone';
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
  { kind, key, payload, grant = '', alias = '' }: NewRecord,
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
  await connection.run('saveRecord', [recordKey(id)], [at, payload, ends, lifeMs, grant, alias]);
  // After the record: until then the alias finds the record before this one, not nothing.
  if (alias !== '') await connection.ask((redis) => redis.set(aliasKey(kind, alias), key, 'PX', lifeMs));
  return 'saved';
}

async function findRow(
  connection: RedisConnection,
  { kind, key }: Name,
  at: number,
): Promise<Row | undefined> {
  const [payload, ends, consumedAt, grant, alias] = await connection.ask((redis) =>
    redis.hmget(recordKey(toRecordId(kind, key)), 'p', 'e', 'c', 'g', 'a'),
  );
  if (typeof payload !== 'string' || Number(ends) <= at) return undefined;
  // A record that was written while its grant was being revoked is still there, and dead.
  if (grant && (await isRevoked(connection, grant, at))) return undefined;
  return { key, payload, alias: alias ?? '', consumedAt: consumedAt ? Number(consumedAt) : undefined };
}

function toStored(row: Row | undefined): StoredRecord | undefined {
  return row && { key: row.key, payload: row.payload, consumedAt: row.consumedAt };
}

async function isRevoked(connection: RedisConnection, grant: string, at: number): Promise<boolean> {
  const ends = await connection.ask((redis) => redis.get(grantDeadKey(grant)));
  return ends !== null && Number(ends) > at;
}

/** With `onlyOf`, the record is left alone if it belongs to another grant by now. */
async function drop(connection: RedisConnection, { kind, key }: Name, onlyOf = ''): Promise<void> {
  const reply = await connection.run('dropRecord', [recordKey(toRecordId(kind, key))], [onlyOf]);
  const [grant = '', alias = ''] = toTexts(reply);
  await Promise.all([
    grant !== '' && connection.ask((redis) => redis.zrem(grantIndexKey(grant), `${kind}:${key}`)),
    alias !== '' && connection.run('dropAlias', [aliasKey(kind, alias)], [key]),
  ]);
}

async function revoke(connection: RedisConnection, grant: string, { at, lifeMs }: Span): Promise<void> {
  const keys = [grantIndexKey(grant), grantDeadKey(grant)];
  const members = toTexts(await connection.run('buryGrant', keys, [at + lifeMs, lifeMs]));
  // From here on everything is dead; the rest only cleans up, and a repeat finds what an outage left behind.
  for (let start = 0; start < members.length; start += BATCH) {
    const batch = members.slice(start, start + BATCH);
    await Promise.all(batch.map((member) => drop(connection, toName(member), grant)));
  }
  if (members.length > 0) await connection.ask((redis) => redis.unlink(grantIndexKey(grant)));
}

/** A member of an index. A kind holds no colon. */
function toName(member: string): Name {
  const colon = member.indexOf(':');
  return { kind: member.slice(0, colon), key: member.slice(colon + 1) };
}
