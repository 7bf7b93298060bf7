// Each hit of a limit is counted in the metrics. The log and the audit trail have a limit once and then at most every ten seconds,
// so that a flood of requests doesn't flood them; they name the request that met it last.
import { createSparse } from '../observability/audit.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { createLimits, type LimitedRequest, type LimitsParts } from './limits.ts';

export function createReportedLimits({
  log,
  audit,
  metrics,
  ...parts
}: Omit<LimitsParts, 'onLimited'> & Telemetry) {
  const timesToSay = createSparse(parts.now);

  function onLimited(limit: string, request: LimitedRequest): void {
    metrics.count('limit_hits', { limit });
    const times = timesToSay(limit);
    if (times === undefined) return;
    const { address, client_id: clientId } = request;
    log.warn({ limit, times, clientId, address }, 'limit reached');
    audit.record('limit_reached', 'failure', { limit, times, ...request });
  }

  return createLimits({ ...parts, onLimited });
}
