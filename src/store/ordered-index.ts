// The key of an entry of an ordered index, the same in both stores: the bytes of its sort, U+0000, the bytes of its id. UTF-8 bytes sort
// in the order of the code points, and no name sorts before its own prefix.
import type { IndexEntry, IndexRange } from './store.ts';

/** lmdb accepts keys of 1978 bytes, which must also fit the name of the index. */
const MAX_BYTES = 1500;

export function toIndexKey({ sort, id }: IndexEntry): Buffer {
  const text = `${sort}\0${id}`;
  const key = Buffer.from(text);
  if (text.split('\0').length !== 2 || !text.isWellFormed() || key.length > MAX_BYTES)
    throw new TypeError('an entry of an index is too long, or not plain text');
  return key;
}

export function toIndexEntry(key: Buffer): IndexEntry {
  const end = key.indexOf(0);
  return { sort: key.toString('utf8', 0, end), id: key.toString('utf8', end + 1) };
}

/** Returns the bounds of a range: from `from` (included) to `to` (excluded). No byte of UTF-8 is 0xff. */
export function toIndexBounds({ prefix = '', after }: IndexRange): {
  readonly from: Buffer;
  readonly to: Buffer;
} {
  const least = Buffer.from(prefix);
  const next = after && Buffer.from(`${after.sort}${after.id === undefined ? '\u0001' : `\0${after.id}\0`}`);
  const from = next && Buffer.compare(next, least) > 0 ? next : least;
  return { from, to: Buffer.concat([least, Buffer.of(0xff)]) };
}
