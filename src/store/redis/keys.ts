// The names of all keys in Redis. One operation touches one slot: only the keys of a grant share a hash tag.
import { toKeyName, toRecordId } from '../key-name.ts';

export const redisRecordKey = (kind: string, key: string) => `postern:record:${toRecordId(kind, key)}`;

export const aliasKey = (kind: string, alias: string) => `postern:alias:${toRecordId(kind, alias)}`;

/** The ids of a grant's records, scored by their expiry. */
export const grantIndexKey = (grant: string) => `postern:{grant:${toKeyName(grant)}}:index`;

/** The tombstone: in the same slot as the index. */
export const grantDeadKey = (grant: string) => `postern:{grant:${toKeyName(grant)}}:dead`;

/** These and the indexes are the only keys without a time to live. */
export const documentsKey = (collection: string) => `postern:documents:${toKeyName(collection)}`;

export const indexKey = (index: string) => `postern:index:${toKeyName(index)}`;

export const counterKey = (key: string) => `postern:counter:${toKeyName(key)}`;
