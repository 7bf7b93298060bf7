// Records in lmdb: one transaction per operation, so that a record, its alias, its grant entry and its expiry entry always
// agree. Expired records are invisible here; sweep.ts deletes them.
import { putDocuments } from './documents.ts';
import { toRecordId, toKeyName } from '../key-name.ts';
import { toLifeMs } from '../lifetime.ts';
import type { LmdbTables, RecordRow } from './tables.ts';
import type {
  Clock,
  ConsumeResult,
  NewRecord,
  RecordStore,
  SaveResult,
  StoredRecord,
  UseOptions,
} from '../store.ts';

type Claim = Readonly<{ id: string; follows: string | undefined; at: number }>;

export function createLmdbRecords(tables: LmdbTables, now: Clock): RecordStore {
  return {
    async save(record) {
      const put = prepare(tables, record);
      return tables.write(() => put(now()));
    },

    async find(kind, key) {
      const id = toRecordId(kind, key);
      return tables.read(() => toStored(kind, findRow(tables, id, now())));
    },

    async findByAlias(kind, alias) {
      const aliasId = toRecordId(kind, alias);
      return tables.read(() => {
        const id = tables.aliases.get(aliasId);
        return id === undefined ? undefined : toStored(kind, findRow(tables, id, now()));
      });
    },

    async consume(kind, key) {
      const id = toRecordId(kind, key);
      return tables.write(() => use(tables, id, now()));
    },

    async exchange(kind, key, records, options) {
      const id = toRecordId(kind, key);
      const puts = records.map((record) => prepare(tables, record));
      return tables.write(() => {
        const at = now();
        const result = use(tables, id, at, options);
        return result === 'consumed' ? puts.map((put) => put(at)) : result;
      });
    },

    async destroy(kind, key) {
      const id = toRecordId(kind, key);
      return tables.write(() => {
        const row = readRow(tables, id);
        if (row === undefined) return 'gone';
        dropRecord(tables, id, row);
        return 'destroyed';
      });
    },

    async revokeGrant(grant, ttlSeconds) {
      const name = toKeyName(grant);
      const lifeMs = toLifeMs(ttlSeconds);
      await tables.write(() => {
        bury(tables, name, now() + lifeMs);
        // Copied first: a cursor must not iterate over rows while they are deleted.
        for (const id of Array.from(tables.grants.getValues(name))) {
          const row = readRow(tables, id);
          if (row !== undefined) dropRecord(tables, id, row);
        }
      });
    },
  };
}

/** Returns undefined also for a row that another program wrote, which counts as absent. */
export function readRow(tables: LmdbTables, id: string): RecordRow | undefined {
  let row: Partial<RecordRow> | undefined;
  try {
    row = tables.records.get(id);
  } catch {
    // Throws if the read itself fails, not only the decoding of the row.
    tables.records.getBinary(id);
  }
  const isWhole = typeof row?.payload === 'string' && typeof row.expiresAt === 'number';
  return isWhole ? (row as RecordRow) : undefined;
}

function findRow(tables: LmdbTables, id: string, at: number): RecordRow | undefined {
  const row = readRow(tables, id);
  if (row === undefined || row.expiresAt <= at) return undefined;
  return row.grant !== undefined && isRevoked(tables, row.grant, at) ? undefined : row;
}

/** Whether the record already has the alias, follows the record that has it, or no live record has it. */
function isFree(tables: LmdbTables, alias: string, { id, follows, at }: Claim): boolean {
  const holder = tables.aliases.get(alias);
  return holder === id || (holder && findRow(tables, holder, at) ? holder : undefined) === follows;
}

/** Checks a record outside of the transaction. Returns a function that writes it inside one. */
function prepare(tables: LmdbTables, record: NewRecord): (at: number) => SaveResult {
  const id = toRecordId(record.kind, record.key);
  const lifeMs = toLifeMs(record.ttlSeconds);
  const follows = record.follows && toRecordId(record.kind, record.follows);
  const row = {
    key: record.key,
    payload: record.payload,
    grant: record.grant && toKeyName(record.grant),
    alias: record.alias && toRecordId(record.kind, record.alias),
  };
  return (at) => {
    if (row.grant !== undefined && isRevoked(tables, row.grant, at)) return 'grant_revoked';
    if (row.alias !== undefined && !isFree(tables, row.alias, { id, follows, at })) return 'ended';
    const consumedAt = record.isConsumed ? Math.floor(at / 1000) : undefined;
    return replaceRecord(tables, id, { ...row, expiresAt: at + lifeMs, consumedAt }, at);
  };
}

/** Call it in a transaction only. */
function use(
  tables: LmdbTables,
  id: string,
  at: number,
  { document, destroys = false, isFirst = !destroys }: UseOptions = {},
): ConsumeResult {
  const row = findRow(tables, id, at);
  if (row === undefined) return 'gone';
  if (row.consumedAt !== undefined && isFirst) return 'already_consumed';
  if (document && !putDocuments(tables, document.collection, [document])) return 'changed';
  if (destroys) dropRecord(tables, id, row);
  else void tables.records.put(id, { ...row, consumedAt: Math.floor(at / 1000) });
  return 'consumed';
}

/** Writes a record and every row that points to it. A consumed record stays consumed and has no alias. */
function replaceRecord(tables: LmdbTables, id: string, row: RecordRow, at: number): SaveResult {
  const old = readRow(tables, id);
  if (old !== undefined) dropRecord(tables, id, old);
  const before = old !== undefined && old.expiresAt > at ? old.consumedAt : undefined;
  const consumedAt = before ?? row.consumedAt;
  void tables.records.put(id, { ...row, consumedAt });
  void tables.expiry.put([row.expiresAt, 'record', id], true);
  if (row.grant !== undefined) void tables.grants.put(row.grant, id);
  if (row.alias !== undefined && consumedAt === undefined) void tables.aliases.put(row.alias, id);
  return before === undefined ? 'saved' : 'ended';
}

/** Deletes a record and every row that points to it. Call it in a transaction only. */
export function dropRecord(tables: LmdbTables, id: string, row: RecordRow): void {
  void tables.records.remove(id);
  void tables.expiry.remove([row.expiresAt, 'record', id]);
  if (row.grant !== undefined) void tables.grants.remove(row.grant, id);
  // A newer record may have claimed the alias since.
  if (row.alias !== undefined && tables.aliases.get(row.alias) === id) void tables.aliases.remove(row.alias);
}

const isRevoked = ({ tombstones }: LmdbTables, grant: string, at: number) =>
  (tombstones.get(grant) ?? at) > at;

/** A second revocation may lengthen the tombstone, never shorten it. */
function bury(tables: LmdbTables, grant: string, end: number): void {
  const old = tables.tombstones.get(grant);
  if (old !== undefined && old >= end) return;
  if (old !== undefined) void tables.expiry.remove([old, 'tombstone', grant]);
  void tables.tombstones.put(grant, end);
  void tables.expiry.put([end, 'tombstone', grant], true);
}

function toStored(kind: string, row: RecordRow | undefined): StoredRecord | undefined {
  if (row === undefined) return undefined;
  const { expiresAt: _expiresAt, alias, ...stored } = row;
  // Aliases are stored with their kind.
  return { ...stored, alias: alias?.slice(kind.length + 1) };
}
