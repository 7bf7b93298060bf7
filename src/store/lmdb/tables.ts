// The tables of the embedded store, and the only two ways to access them: `read` and `write`. Errors of lmdb become store errors.
import { open } from 'lmdb';
import { setTimeout as delay } from 'node:timers/promises';
import { assertRoom, toReason } from './files.ts';
import { type StoredDocument, type StoredRecord, StoreTakesNoWrites, StoreUnavailable } from '../store.ts';

export type RecordRow = StoredRecord & { readonly expiresAt: number };
export type CounterRow = Readonly<{ count: number; endsAt: number }>;

/** Which table a row of the expiry index points into. */
type Expiring = 'record' | 'tombstone' | 'counter';
export type ExpiryKey = [expiresAt: number, table: Expiring, id: string];

export type LmdbTables = ReturnType<typeof openTables>;

/** `folder` must exist. Throws what lmdb throws. */
export function openTables(folder: string) {
  const root = open({
    path: folder,
    // Without this, lmdb takes a folder with a dot in its name for a file.
    noSubdir: false,
    maxDbs: 16,
    // With overlapping sync (the default on Linux) a transaction resolves before its pages are on disk.
    overlappingSync: false,
    // If true, a failed commit (a full disk) also rejects a promise that only lmdb has, which ends the process.
    eventTurnBatching: false,
    permissionsMode: 0o600,
    // Free pages that each transaction copies and may reuse. With lmdb's default of 50,000, a commit takes 17 ms of CPU after a mass
    // expiry; with 100, large values find no adjacent pages, and the file grows.
    maxFreeSpaceToLoad: 1000,
    maxFreeSpaceToRetain: 5000,
  } as Parameters<typeof open>[0]);
  let isClosed = false;
  let explaining: Promise<StoreTakesNoWrites> | undefined;
  /** LMDB reports a full disk as an input/output error, so the disk is asked for the real reason. */
  const explain = (cause: unknown) =>
    (explaining ??= assertRoom(folder)
      .then(
        () => new StoreTakesNoWrites(toReason(cause), { cause }),
        (reason: StoreTakesNoWrites) => reason,
      )
      .finally(() => (explaining = undefined)));

  return {
    records: root.openDB<RecordRow, string>('records', {}),
    /** `kind:alias` to record id. */
    aliases: root.openDB<string, string>('aliases', { encoding: 'string' }),
    /** Grant to the ids of its records, one row each. */
    grants: root.openDB<string, string>('grants', { dupSort: true, encoding: 'ordered-binary' }),
    /** Grant to the end of its tombstone. */
    tombstones: root.openDB<number, string>('tombstones', {}),
    documents: root.openDB<StoredDocument, [collection: string, id: string]>('documents', {}),
    /** Keys as in ordered-index.ts, prefixed with the name of the index. */
    index: root.openDB<true, Buffer>('index', { keyEncoding: 'binary' }),
    counters: root.openDB<CounterRow, string>('counters', {}),
    expiry: root.openDB<true, ExpiryKey>('expiry', {}),

    /** Sees every write that any process acknowledged before the call. */
    read<T>(action: () => T): T {
      try {
        // lmdb keeps its snapshot until the next timer tick; another process may have revoked something since.
        root.resetReadTxn();
        return action();
      } catch (cause) {
        throw new StoreUnavailable({ cause });
      }
    },

    /** Runs `action`, which is synchronous, as one transaction. Resolves once it is on disk. */
    async write<T>(action: () => T): Promise<T> {
      if (isClosed) throw new StoreUnavailable({ cause: new Error('the store is closed') });
      try {
        // A child transaction, because an action that throws halfway must leave nothing behind.
        return await root.childTransaction(action);
      } catch (thrown) {
        const cause = await commitErrorOf(thrown);
        if (cause === undefined) throw new StoreUnavailable({ cause: thrown });
        throw await explain(cause);
      }
    },

    /** Frees the reader slots of killed processes, which would prevent the reuse of old pages. */
    forgetDeadReaders() {
      root.readerCheck();
    },

    /** Writes a consistent snapshot to data.mdb in an empty folder. Writers continue meanwhile. */
    copyTo: (to: string): Promise<void> => root.backup(to, true),

    async close(): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      await root.close();
    },
  };
}

/** lmdb reports the reason in the same turn of the event loop, or when its thread has answered. */
const REASON_WITHIN_MS = 1000;

/**
 * Resolves with the reason why a commit failed. lmdb attaches it to its error as a rejected promise, which would end the process
 * if it weren't handled.
 */
async function commitErrorOf(thrown: unknown): Promise<unknown> {
  if (typeof thrown !== 'object' || thrown === null || !('commitError' in thrown)) return undefined;
  const reason = Promise.resolve(thrown.commitError).then(
    () => thrown,
    (cause: unknown) => cause,
  );
  const none = new Error('lmdb reported no reason');
  return Promise.race([reason, delay(REASON_WITHIN_MS, none)]);
}
