// Every metric of the service by name: what it is called, what it means, and its labels. A label is never what a caller sent,
// only what the configuration or this code names, and of each there is a bounded number.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
/** Clients beyond these share one label, so that ten thousand of them don't make ten thousand series. */
export const MAX_CLIENT_LABELS = 200;
export const OTHER_CLIENTS = 'other';
/** The label of all clients whose client_id is a URL. */
export const DOCUMENT_CLIENTS = 'documents';

/** What happens, as it happens. */
export function createInstruments(registers: Registry[]) {
  const counter = <Label extends string = never>(name: string, help: string, labels: Label[] = []) =>
    new Counter<Label>({ name: `postern_${name}`, help, labelNames: labels, registers });
  const histogram = <Label extends string = never>(name: string, help: string, labels: Label[] = []) =>
    new Histogram<Label>({ name: `postern_${name}`, help, labelNames: labels, buckets: SECONDS, registers });
  return {
    requests: histogram(
      'http_request_duration_seconds',
      'Requests by route and status, and how long they took.',
      ['route', 'status'],
    ),
    events: counter('security_events_total', 'Security events, as the audit trail has them.', [
      'event',
      'outcome',
    ]),
    tokens: counter(
      'tokens_issued_total',
      `Successful answers of the token endpoint. Clients after the first ${MAX_CLIENT_LABELS} count as "${OTHER_CLIENTS}", those whose client_id is a URL as "${DOCUMENT_CLIENTS}".`,
      ['grant_type', 'client_id'],
    ),
    accessDenied: counter(
      'access_denied_total',
      `Requests of people whom a rule of the file keeps out. Clients after the first ${MAX_CLIENT_LABELS} count as "${OTHER_CLIENTS}", those whose client_id is a URL as "${DOCUMENT_CLIENTS}".`,
      ['client_id'],
    ),
    secondFactors: counter(
      'second_factors_total',
      'Passkeys, one-time codes and recovery codes that were shown, by what became of them.',
      ['method', 'outcome'],
    ),
    limits: counter(
      'limit_hits_total',
      'Requests beyond a limit, answered with 429 unless rate_limits.dry_run is on.',
      ['limit'],
    ),
    store: histogram('store_operation_duration_seconds', 'Operations of the store.', ['operation']),
    storeErrors: counter('store_errors_total', 'Operations of the store that failed.', ['operation']),
    damaged: counter('damaged_records_total', 'Stored records that could not be read.', ['kind']),
    signatures: histogram(
      'signature_duration_seconds',
      'Signing of access tokens, with the wait for a thread.',
    ),
    reloads: counter('configuration_reloads_total', 'Changed configurations by what became of them.', [
      'outcome',
    ]),
    workersEnded: counter(
      'workers_ended_total',
      'Workers that ended without being asked to, before they served or later.',
    ),
    crashes: counter('crashes_total', 'Workers that ended because of an error that nothing caught.'),
    lost: counter('lines_lost_total', 'Lines of the log or the audit trail that could not be written.'),
    waiting: new Gauge({
      name: 'postern_lines_waiting_bytes',
      help: "Lines of the log or the audit trail that aren't written yet. If it stays above 0, they can't be written.",
      labelNames: ['to'],
      registers,
    }),
  };
}

type SecretTime = { readonly clientId: string; readonly secret: string; readonly at: number };

/** What is known only when somebody asks; of several processes, the workers alone know most of it. `at` is in epoch seconds. */
export type Snapshot = {
  readonly configurationHash: string;
  /** False: the file on disk is not what runs. */
  readonly configurationIsCurrent: boolean;
  /** Changed settings that wait for a restart, and whether the start would be refused. */
  readonly pending?: readonly { readonly setting: string; readonly blocks: boolean }[];
  readonly ready: boolean;
  readonly keys?: readonly { readonly kid: string; readonly state: string; readonly createdAt: number }[];
  /** When the next step of the rotation is due; in the past when it is overdue. */
  readonly nextKeyStepAt?: number | undefined;
  readonly secretExpiries?: readonly SecretTime[];
  readonly secretUses?: readonly SecretTime[];
  /** Faults of the operator's views; users see the built-in pages. */
  readonly viewFaults?: number;
  /** Names of what is less safe at the store than it could be. */
  readonly storeWarnings?: readonly string[];
};

const SECRET = ['client_id', 'secret'] as const;

/** Gauges are what they were when somebody last asked. */
export function createSnapshotGauges(registers: Registry[]) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `postern_${name}`, help, labelNames: [...labelNames], registers });
  const configuration = gauge('configuration_info', 'The hash of the configuration that runs.', ['hash']);
  const current = gauge('configuration_current', '0: the file on disk was refused, an older one runs.');
  const pending = gauge('configuration_pending', '1: this setting of the file waits for a restart.', [
    'setting',
    'blocks',
  ]);
  const ready = gauge('ready', '1: /readyz says ready.');
  const keys = gauge('signing_key_created_timestamp_seconds', 'The signing keys by state.', ['kid', 'state']);
  const nextStep = gauge(
    'signing_key_next_step_timestamp_seconds',
    'When the next step of the rotation is due.',
  );
  const expiries = gauge('client_secret_expiry_timestamp_seconds', 'When a client secret ends.', SECRET);
  const uses = gauge('client_secret_last_use_timestamp_seconds', 'When a secret was last right.', SECRET);
  const views = gauge('view_faults', "Faults of the operator's views. Users see the built-in pages.");
  const clock = gauge('clock_timestamp_seconds', "This machine's clock at the scrape.");
  const warnings = gauge(
    'store_warning',
    'What is less safe at the store than it could be; the log has the words.',
    ['warning'],
  );

  return {
    set(snapshot: Snapshot): void {
      for (const one of [configuration, pending, keys, nextStep, expiries, uses, warnings]) one.reset();
      configuration.set({ hash: snapshot.configurationHash }, 1);
      current.set(snapshot.configurationIsCurrent ? 1 : 0);
      for (const { setting, blocks } of snapshot.pending ?? [])
        pending.set({ setting, blocks: String(blocks) }, 1);
      ready.set(snapshot.ready ? 1 : 0);
      views.set(snapshot.viewFaults ?? 0);
      clock.set(Date.now() / 1000);
      for (const { kid, state, createdAt } of snapshot.keys ?? []) keys.set({ kid, state }, createdAt);
      for (const warning of snapshot.storeWarnings ?? []) warnings.set({ warning }, 1);
      // Nothing is later or earlier than that, so no alert is.
      nextStep.set(snapshot.nextKeyStepAt ?? Number.NaN);
      setEach(expiries, snapshot.secretExpiries);
      setEach(uses, snapshot.secretUses);
    },
  };
}

/** The soonest or latest would need a sort: a configuration of thousands of secrets watches some other way. */
function setEach(gauge: Gauge<'client_id' | 'secret'>, times: readonly SecretTime[] = []): void {
  for (const { clientId, secret, at } of times.slice(0, MAX_CLIENT_LABELS)) {
    gauge.set({ client_id: clientId, secret }, at);
  }
}
