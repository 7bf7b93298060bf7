// Notices that a store went back to an earlier state under a running process: a snapshot was restored, or it was emptied. A mark
// of each process says when it was written; one that isn't what this process left there was lost with all that came after it.
import { randomBytes, randomUUID } from 'node:crypto';
import { StoreUnavailable, type Clock, type RecordStore } from './store.ts';

const KIND = 'Mark';
/** Longer than an outage after which a snapshot is restored. */
const LIFE_SECONDS = 86_400;
const MARGIN_MS = 60_000;

type LostWritesParts = {
  readonly records: RecordStore;
  readonly now: Clock;
  /** `since`, epoch milliseconds: what was written later is gone. Undefined where the store doesn't say. */
  readonly onLoss: (since: number | undefined) => void;
};

/** Compares the mark with the one that was left there, and leaves a new one. To be called every few seconds; never rejects. */
export function createLossDetector({ records, now, onLoss }: LostWritesParts): () => Promise<void> {
  // As long as every other key of a record.
  const key = randomBytes(32).toString('base64url');
  let left: string | undefined;
  /** Sent later than `left`, and not answered: either of the two may be there. */
  let unanswered: string | undefined;
  let leftAt = 0;

  async function look(): Promise<void> {
    const at = now();
    const found = (await records.find(KIND, key))?.payload;
    // A process that slept, or had no store, for longer finds no mark.
    const isDue = left !== undefined && at - leftAt < LIFE_SECONDS * 1000 - MARGIN_MS;
    if (isDue && found !== left && (found === undefined || found !== unanswered)) {
      onLoss(found === undefined ? undefined : Number.parseInt(found, 10));
    }
    unanswered = `${at} ${randomUUID()}`;
    // Awaited by the replicas, so that a failover doesn't lose it.
    await records.save({ kind: KIND, key, payload: unanswered, ttlSeconds: LIFE_SECONDS, isAwaited: true });
    [left, leftAt, unanswered] = [unanswered, at, undefined];
  }

  return async () => {
    await look().catch((error: unknown) => {
      // The key ring is asked for next, and its failure is reported.
      if (!(error instanceof StoreUnavailable)) throw error;
    });
  };
}
