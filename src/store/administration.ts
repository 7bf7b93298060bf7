// What an operator asks of a store and the service never does: whether its servers are fit, what it holds, its documents copied
// out and in. Only the engine in question is loaded.
import type { StoreConfig } from '../config/config.ts';

/** What an operator should change at one server of the store. */
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

/** Rejects with one line, without a password, when the store can't be reached. */
export async function openAdministration(config: StoreConfig): Promise<StoreAdministration> {
  if (config.engine === 'lmdb') {
    const { administerLmdb } = await import('./lmdb/administration.ts');
    return administerLmdb(config.folder);
  }
  const { administerRedis } = await import('./redis/administration.ts');
  return administerRedis(config.url);
}

/** Opens it for one piece of work. */
export async function withAdministration<Result>(
  config: StoreConfig,
  use: (administration: StoreAdministration) => Promise<Result>,
): Promise<Result> {
  const administration = await openAdministration(config);
  try {
    return await use(administration);
  } finally {
    await administration.close();
  }
}

/**
 * Puts documents into a Redis that has none, with the versions that they had. False: it has some already. The service must not
 * run on it meanwhile.
 */
export async function importDocuments(url: string, documents: readonly PlacedDocument[]): Promise<boolean> {
  const { importIntoRedis } = await import('./redis/administration.ts');
  return importIntoRedis(url, documents);
}

/** Adds to `counts`. */
export function countOne(counts: Record<string, number>, kind: string): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
}
