// What an operator asks of a store and the service never does: whether its servers are fit, what it holds, its documents copied
// out and in.

export type ServerFindings = {
  readonly server: string;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
};

export type StoreStats = {
  /** How many of each kind are kept: `Session`, `documents`, `counter` … */
  readonly counts: Readonly<Record<string, number>>;
  /** In memory for Redis, on disk for lmdb. */
  readonly bytes: number;
};

/** A document with its place and its version, which some documents are sealed with. */
export type PlacedDocument = {
  readonly collection: string;
  readonly id: string;
  readonly value: string;
  readonly version: number;
};

export interface StoreAdministration {
  findings(): Promise<readonly ServerFindings[]>;
  stats(): Promise<StoreStats>;
  exportDocuments(): Promise<readonly PlacedDocument[]>;
  /** A copy of everything, into a folder that must not exist; the service may run. Absent where the server has its own way. */
  backup?(folder: string): Promise<void>;
  close(): Promise<void>;
}

/** Adds to `counts`. */
export function countOne(counts: Record<string, number>, kind: string): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
}
