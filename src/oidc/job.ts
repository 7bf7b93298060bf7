// Work that an application does besides requests, such as delivering logout tokens.
import type { Snapshot } from '../observability/metrics.ts';

export type Job = Readonly<{
  start: () => void;
  /** Resolves when nothing is under way. */
  stop: () => Promise<void>;
  /** For the metrics. */
  snapshot?: (this: void) => Promise<Snapshot>;
}>;
