// All metrics of the service, and the text that Prometheus scrapes, for one process or several. Labels come only from the configuration or
// this code, never from a caller, and each has a bounded number of values.
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const FAILURES = [500, 503];

type KnownLabels = Readonly<Record<'routes' | 'limits' | 'events', readonly string[]>>;

/** Gauges that are read at each scrape: name, value and labels. Times are in epoch seconds. */
export type Snapshot = readonly (readonly [
  name: string,
  value: number,
  labels?: Readonly<Record<string, string>>,
])[];

/** Counters end in `_total`, histograms in `_duration_seconds`. All others are gauges. */
export type MetricTable = Readonly<Record<string, readonly [help: string, ...labelNames: string[]]>>;
type Labels = Readonly<Record<string, string | number>>;

const METRICS: MetricTable = {
  configuration_info: ['The hash of the configuration that runs.', 'hash'],
  configuration_current: ['0: the file on disk was refused, an older one runs.'],
  ready: ['1: /readyz says ready.'],
  signing_key_next_step_timestamp_seconds: ['When the next step of the rotation is due.'],
  client_secret_expiry_timestamp_seconds: ['When a client secret ends.', 'client_id', 'secret'],
  view_faults: ["Faults of the administrator's views. Pages are shown in their last good form."],
  clock_timestamp_seconds: ["This machine's clock at the scrape."],
  encryption_key_missing: [
    'Something in the store needs a key that encryption_keys of the file does not have.',
    'key',
  ],
  store_warning: ['What is less safe at the store than it could be; the log has the words.', 'warning'],
  lines_waiting_bytes: [
    "Lines of the log or the audit trail that aren't written yet. If it stays above 0, they can't be written.",
    'to',
  ],
  security_events_total: ['Security events, as the audit trail has them.', 'event', 'outcome'],
  tokens_issued_total: ['Successful answers of the token endpoint.', 'grant_type'],
  limit_hits_total: ['Requests beyond a limit, answered with 429.', 'limit'],
  store_errors_total: ['Operations of the store that failed.', 'operation'],
  damaged_records_total: ['Stored records that could not be read.', 'kind'],
  workers_ended_total: ['Workers that ended without being asked to, before they served or later.'],
  crashes_total: ['Workers that ended because of an error that nothing caught.'],
  http_request_duration_seconds: ['Requests by route, status and cause.', 'route', 'status', 'cause'],
  store_operation_duration_seconds: ['Operations of the store.', 'operation'],
  signature_duration_seconds: ['Signing of access tokens, with the wait for a thread.'],
};

/** Opaque; may cross a process boundary as JSON. */
export type ProcessMetrics = readonly object[];

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

export function createMetrics() {
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 20 });
  const gauges = new Map<string, Gauge>();
  const counters = new Map<string, Counter>();
  const durations = new Map<string, Histogram>();
  function add(table: MetricTable) {
    for (const [key, [help, ...labelNames]] of Object.entries(table)) {
      const one = { name: `postern_${key}`, help, labelNames, registers: [register] };
      const [name = '', isCounter] = key.split(/(_total)$|_duration_seconds$/);
      if (register.getSingleMetric(one.name)) continue;
      if (isCounter) counters.set(name, new Counter(one));
      else if (name !== key) durations.set(name, new Histogram({ ...one, buckets: SECONDS }));
      else gauges.set(name, new Gauge(one));
    }
  }
  add(METRICS);

  const count = (name: string, labels: Labels = {}, by = 1) => counters.get(name)?.inc(labels, by);

  const sources: (() => Snapshot | Promise<Snapshot>)[] = [];
  return {
    count,
    /** Records the time since `startedAt`, by `performance.now()`. */
    observe: (name: string, startedAt: number, labels: Labels = {}) =>
      durations.get(name)?.observe(labels, (performance.now() - startedAt) / 1000),
    add,
    /** Creates the series at 0, because `rate()` doesn't see the first failure of a series that it creates. */
    startAtZero({ routes, limits, events }: KnownLabels) {
      const requests = durations.get('http_request');
      for (const route of routes) for (const status of FAILURES) requests?.zero({ route, status });
      requests?.zero({ route: 'authorization', status: 503, cause: 'client_document' });
      for (const limit of limits) count('limit_hits', { limit }, 0);
      for (const event of events)
        for (const outcome of ['success', 'failure']) count('security_events', { event, outcome }, 0);
    },
    /** The source is asked at each scrape. */
    describe: (source: () => Snapshot | Promise<Snapshot>) => void sources.push(source),
    /** Reads this process's metrics, in prom-client's own format, which `toText` adds up. */
    async read(): Promise<ProcessMetrics> {
      const snapshots = await Promise.all(sources.map(async (source) => source()));
      for (const gauge of gauges.values()) gauge.reset();
      for (const [name, value, labels = {}] of snapshots.flat()) gauges.get(name)?.set(labels, value);
      gauges.get('clock_timestamp_seconds')?.set(Date.now() / 1000);
      return register.getMetricsAsJSON();
    },
  };
}

type Metric = Readonly<{
  name: string;
  type: string;
  values: readonly { readonly labels: Readonly<Record<string, unknown>> }[];
}>;

/**
 * Resolves with the text that Prometheus reads. Counters and histograms are added up over the processes. Gauges, and all
 * metrics of a process itself, get the label `worker`. `missing` is added to the sums.
 */
export async function toText(
  processes: ReadonlyMap<string, ProcessMetrics>,
  missing: ProcessMetrics = [],
): Promise<string> {
  const isAlone = processes.size === 1;
  const labelled = [...processes].map(([worker, metrics]) =>
    (metrics as readonly Metric[]).map((metric) =>
      isSum(metric) ? metric : withLabel(metric, isAlone ? {} : { worker }),
    ),
  );
  return AggregatorRegistry.aggregate([...labelled, [...missing]]).metrics();
}

export async function addUp(processes: readonly ProcessMetrics[]): Promise<ProcessMetrics> {
  const sums = processes.map((metrics) => (metrics as readonly Metric[]).filter(isSum));
  return AggregatorRegistry.aggregate(sums).getMetricsAsJSON();
}

function isSum({ name, type }: Metric): boolean {
  const isOfProcess = name.startsWith('process_') || name.startsWith('nodejs_');
  return !isOfProcess && (type === 'counter' || type === 'histogram');
}

/** Adds a label. `sum`, because prom-client would otherwise omit some values, or take the first. */
function withLabel(metric: Metric, label: Readonly<Record<string, string>>) {
  const values = metric.values.map((value) => ({ ...value, labels: { ...value.labels, ...label } }));
  return { ...metric, values, aggregator: 'sum' };
}
