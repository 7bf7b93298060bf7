// The names of everything in Redis. One operation touches one slot: only what belongs to a grant shares a hash tag.
import { toKeyName, toRecordId } from '../key-name.ts';

/** `id` as from toRecordId. */
export function redisRecordKey(id: string): string {
  return `postern:record:${id}`;
}

export function aliasKey(kind: string, alias: string): string {
  return `postern:alias:${toRecordId(kind, alias)}`;
}

/** The ids of a grant's records, scored by when they end. */
export function grantIndexKey(grant: string): string {
  return `postern:{grant:${toKeyName(grant)}}:index`;
}

/** The tombstone: in the same slot as the index. */
export function grantDeadKey(grant: string): string {
  return `postern:{grant:${toKeyName(grant)}}:dead`;
}

export const DOCUMENTS_PREFIX = 'postern:documents:';

/** The only keys without a time to live. */
export function documentsKey(collection: string): string {
  return `${DOCUMENTS_PREFIX}${toKeyName(collection)}`;
}

export function counterKey(key: string): string {
  return `postern:counter:${toKeyName(key)}`;
}
