// Each hit of a limit is counted in the metrics. The log and the audit trail have a limit once and then at most every ten seconds,
// so that a flood of requests doesn't flood them; they name the request that met it last.
import type { Telemetry } from '../observability/telemetry.ts';
import { createLimits, type LimitedRequest, type LimitsParts } from './limits.ts';

const PAUSE_MS = 10_000;

export function createReportedLimits({
  telemetry: { log, audit, metrics },
  ...parts
}: Omit<LimitsParts, 'onLimited'> & { readonly telemetry: Telemetry }) {
  const hits = new Map<string, { reportedAt: number; times: number }>();

  function onLimited(limit: string, request: LimitedRequest): void {
    metrics.limitHit(limit);
    const hit = hits.get(limit) ?? { reportedAt: -Infinity, times: 0 };
    hits.set(limit, hit);
    hit.times += 1;
    const { times } = hit;
    if (parts.now() - hit.reportedAt < PAUSE_MS) return;
    Object.assign(hit, { reportedAt: parts.now(), times: 0 });
    const { address, client_id: clientId } = request;
    log.warn({ limit, times, clientId, address }, 'limit reached');
    audit.record('limit_reached', 'failure', { limit, times, ...request });
  }

  return createLimits({ ...parts, onLimited });
}
