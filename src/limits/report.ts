// What is said of limits that were hit: once, and then how often at most every ten seconds. Whoever floods the service
// doesn't get to flood its log.
import type { Clock } from '../store/store.ts';

const PAUSE_MS = 10_000;

/** `report` hears of a limit by name, and how often it was hit since it last did. The result is called for each hit. */
export function createLimitReport(
  report: (limit: string, times: number) => void,
  now: Clock,
): (limit: string) => void {
  const hits = new Map<string, { reportedAt: number; times: number }>();

  return function onLimited(limit) {
    const hit = hits.get(limit) ?? { reportedAt: -Infinity, times: 0 };
    hits.set(limit, hit);
    hit.times += 1;
    if (now() - hit.reportedAt < PAUSE_MS) return;
    report(limit, hit.times);
    Object.assign(hit, { reportedAt: now(), times: 0 });
  };
}
