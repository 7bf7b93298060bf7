// What is said of limits that were hit: once, and then how often at most every ten seconds. Whoever floods the service
// doesn't get to flood its log.
import type { Clock } from '../store/store.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { createLimits, type LimitsParts } from './limits.ts';

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

/** Limits whose hits are counted in the metrics, and reported to the log and the audit trail. */
export function createReportedLimits(
  parts: Omit<LimitsParts, 'onLimited'> & { readonly telemetry: Telemetry },
) {
  const { log, audit, metrics } = parts.telemetry;
  const report = createLimitReport((limit, times) => {
    log.warn({ limit, times }, 'limit reached');
    audit.record('limit_reached', 'failure', { limit, times });
  }, parts.now);
  return createLimits({
    ...parts,
    onLimited(limit) {
      metrics.limitHit(limit);
      report(limit);
    },
  });
}
