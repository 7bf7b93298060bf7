// The name that a record of the engine is stored under.
import type { KeyedHash } from '../store/keyed-hash.ts';

/** The keyed hash of a model's name and the record's id, so that the store holds no bearer value. */
export const recordKey = (hash: KeyedHash, model: string, id: string): string => hash(`${model}:${id}`);
