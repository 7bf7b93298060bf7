// Background work of an application, such as delivering logout tokens.
import type { Snapshot } from '../observability/metrics.ts';

export type Job = Readonly<{
  start: () => void;
  /** Resolves when no work is in progress. */
  stop: () => Promise<void>;
  /** For the metrics. */
  snapshot?: (this: void) => Promise<Snapshot>;
}>;
