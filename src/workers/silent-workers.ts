// What is known of the counters of workers that have ended or don't answer. A sum over workers must not fall when one of them
// is missing: Prometheus would take the rest for new. Owns what is kept of whom; how it is added up is telemetry/metrics.ts.
import { addUp, type ProcessMetrics } from '../telemetry/metrics.ts';

/** One worker at a scrape. */
export type ScrapedWorker = {
  readonly pid: number | undefined;
  /** Undefined: it didn't answer. */
  readonly metrics: ProcessMetrics | undefined;
};

export interface SilentWorkers {
  /** `workers` are all that there are. Resolves what those who are missing had counted when they were last asked. */
  missing(workers: readonly ScrapedWorker[]): Promise<ProcessMetrics>;
}

export function createSilentWorkers(): SilentWorkers {
  const lastTold = new Map<number, ProcessMetrics>();
  /** All who have ended, as one, however many they are. */
  let ended: Promise<ProcessMetrics> = Promise.resolve([]);

  return {
    async missing(workers) {
      const alive = new Map(workers.map(({ pid, metrics }) => [pid, metrics]));
      for (const [pid, metrics] of lastTold) {
        if (alive.has(pid)) continue;
        lastTold.delete(pid);
        ended = ended.then((before) => addUp([before, metrics]));
      }
      const silent: ProcessMetrics[] = [];
      for (const { pid, metrics } of workers) {
        if (pid === undefined) continue;
        const last = metrics ?? lastTold.get(pid);
        if (last !== undefined) lastTold.set(pid, last);
        if (metrics === undefined && last !== undefined) silent.push(last);
      }
      return addUp([await ended, ...silent]);
    },
  };
}
