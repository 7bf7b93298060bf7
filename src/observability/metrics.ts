// The functions by which the service counts and measures, and the text that Prometheus scrapes, of one process or several.
// Names and labels are in instruments.ts.
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import { AUDIT_EVENTS } from './audit.ts';
import {
  createInstruments,
  createSnapshotGauges,
  DOCUMENT_CLIENTS,
  MAX_CLIENT_LABELS,
  OTHER_CLIENTS,
  type Snapshot,
} from './instruments.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The values of labels, as far as they are known before anything happens. */
type KnownLabels = {
  readonly routes: readonly string[];
  readonly limits: readonly string[];
  readonly storeOperations: readonly string[];
};

/** What the service answers when it fails. */
const FAILURES = [500, 503];

/** Opaque; may cross a process boundary as JSON. */
export type ProcessMetrics = readonly object[];

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** One for each process. */
export function createMetrics() {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 20 });

  const of = createInstruments(registers);
  const snapshots = createSnapshotGauges(registers);

  const labelledClients = new Set<string>();
  function clientLabel(clientId: string): string {
    // Where documents of clients are fetched, anybody can publish one more.
    if (clientId.startsWith('https://')) return DOCUMENT_CLIENTS;
    if (labelledClients.has(clientId)) return clientId;
    if (labelledClients.size >= MAX_CLIENT_LABELS) return OTHER_CLIENTS;
    labelledClients.add(clientId);
    return clientId;
  }

  const lines = new Map<string, () => number>();
  let snapshot: (() => Promise<Snapshot>) | undefined;
  return {
    request: (route: string, status: number, seconds: number) =>
      of.requests.observe({ route, status }, seconds),
    /** Whatever the audit trail has a record of. */
    event: (event: string, outcome: string) => of.events.inc({ event, outcome }),
    tokenIssued: (grantType: string, clientId: string) =>
      of.tokens.inc({ grant_type: grantType, client_id: clientLabel(clientId) }),
    accessDenied: (clientId: string) => of.accessDenied.inc({ client_id: clientLabel(clientId) }),
    secondFactor: (method: string, outcome: string) => of.secondFactors.inc({ method, outcome }),
    limitHit: (limit: string) => of.limits.inc({ limit }),
    storeOperation(operation: string, seconds: number, failed: boolean) {
      of.store.observe({ operation }, seconds);
      if (failed) of.storeErrors.inc({ operation });
    },
    recordDamaged: (kind: string) => of.damaged.inc({ kind }),
    signed: (seconds: number) => of.signatures.observe(seconds),
    reload: (outcome: 'taken' | 'refused') => of.reloads.inc({ outcome }),
    lineLost: () => of.lost.inc(),
    workerEnded(hasCrashed: boolean) {
      of.workersEnded.inc();
      if (hasCrashed) of.crashes.inc();
    },
    /** A failure that is the first of its kind counts from 0: `rate()` doesn't see a series that is born with it. */
    startAtZero({ routes, limits, storeOperations }: KnownLabels) {
      for (const route of routes) for (const status of FAILURES) of.requests.zero({ route, status });
      for (const limit of limits) of.limits.inc({ limit }, 0);
      for (const operation of storeOperations) of.storeErrors.inc({ operation }, 0);
      for (const event of AUDIT_EVENTS)
        for (const outcome of ['success', 'failure']) of.events.inc({ event, outcome }, 0);
      for (const outcome of ['taken', 'refused']) of.reloads.inc({ outcome }, 0);
    },
    /** How much of it isn't written yet; asked at each scrape. */
    watchLines: (to: 'log' | 'audit', bytes: () => number) => void lines.set(to, bytes),
    /** Where a snapshot comes from; asked at each scrape. */
    describe(source: () => Promise<Snapshot>) {
      snapshot = source;
    },
    /** Of this process, in prom-client's own form, which `toText` adds up. */
    async read(): Promise<ProcessMetrics> {
      for (const [to, bytes] of lines) of.waiting.set({ to }, bytes());
      if (snapshot !== undefined) snapshots.set(await snapshot());
      return register.getMetricsAsJSON();
    },
  };
}

/** What `toText` needs to know of a metric. */
type Metric = {
  readonly name: string;
  readonly type: string;
  readonly values: readonly { readonly labels: Readonly<Record<string, unknown>> }[];
};

/**
 * The text that Prometheus reads. What can be added up over the processes is: counters and histograms. What can't, gauges and
 * all that is said of a process, carries the label `worker`. `missing` is added to the sums.
 */
export async function toText(
  processes: ReadonlyMap<string, ProcessMetrics>,
  missing: ProcessMetrics = [],
): Promise<string> {
  const isAlone = processes.size === 1;
  const labelled = [...processes].map(([worker, metrics]) =>
    (metrics as readonly Metric[]).map((metric) =>
      // prom-client would leave some out of a sum, or take the first.
      ({ ...(isAlone || isSum(metric) ? metric : withLabel(metric, worker)), aggregator: 'sum' }),
    ),
  );
  return AggregatorRegistry.aggregate([...labelled, [...missing]]).metrics();
}

/** Of several processes as one, and only what can be added up. */
export async function addUp(processes: readonly ProcessMetrics[]): Promise<ProcessMetrics> {
  const sums = processes.map((metrics) =>
    (metrics as readonly Metric[]).filter(isSum).map((metric) => ({ ...metric, aggregator: 'sum' })),
  );
  return AggregatorRegistry.aggregate(sums).getMetricsAsJSON();
}

function isSum({ name, type }: Metric): boolean {
  const isOfProcess = name.startsWith('process_') || name.startsWith('nodejs_');
  return !isOfProcess && (type === 'counter' || type === 'histogram');
}

function withLabel(metric: Metric, worker: string): Metric {
  return {
    ...metric,
    values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker } })),
  };
}
