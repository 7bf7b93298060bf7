// What administrators see of a running service: whether it is ready or why not, and what a scrape of the metrics shows.
import type { Config } from '../config/config.ts';
import { secretId } from '../config/secret-strength.ts';
import { type Status, summaryOf } from '../http/management.ts';
import { type Store, StoreUnavailable, StoreUnfit } from '../store/store.ts';
import { measured } from '../store/measured.ts';
import type { Snapshot } from '../observability/metrics.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { Views } from '../views/views.ts';

export type WatchedStore = ReturnType<typeof watchStore>;

/** An outage is in the log within this time. */
const LOOK_EVERY_MS = 2000;

/** Checks the store periodically, and logs one line whenever its problem changes. */
export function watchStore(given: Store, { log, metrics }: Telemetry) {
  let known: unknown;
  let asking: Promise<string | undefined> | undefined;
  let isClosed = false;
  let isCut = false;
  const store = measured(given, metrics, () => isCut);
  const timer = setInterval(() => void storeProblem(), LOOK_EVERY_MS).unref();

  async function ask(): Promise<string | undefined> {
    const error: unknown = await store.ping().catch((reason: unknown) => reason);
    const problem = error === undefined ? undefined : toProblem(error);
    // The reason for a network fault varies from try to try, so only a new answer of the server is logged again.
    const state = error instanceof Error && error.name === StoreUnavailable.name ? error.name : problem;
    if (state === known || isClosed) return problem;
    known = state;
    if (problem === undefined) log.info('the store is available again');
    else log.error(problem);
    return problem;
  }

  function storeProblem(): Promise<string | undefined> {
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  }

  return {
    /** The given store, measured. Closing it stops the watch. */
    store: {
      ...store,
      close() {
        isClosed = true;
        clearInterval(timer);
        return store.close();
      },
    },
    /** Resolves with why the store can't be used, undefined when it can. Never rejects. */
    storeProblem,
    /** Rejects every further operation before it is sent. */
    cutStore(): void {
      isClosed = true;
      isCut = true;
    },
  };
}

/** Names what the administrator must change at the server or the disk; any other error is an outage. */
function toProblem(error: unknown): string {
  if (error instanceof StoreUnfit) return `the store is unsafe: ${error.message}`;
  return error instanceof StoreUnavailable ? error.message : "can't reach the store";
}

type SnapshotParts = Readonly<{
  config: Pick<Config, 'clients'>;
  status: Status;
  /** When the next step of the key rotation is due, in epoch milliseconds. */
  nextStepAt: number | undefined;
  store: Store;
  views: Views;
}>;

/** The metrics show only the secrets that expire first. */
const MOST_SECRETS = 200;
const SECRET_ENDS = 'client_secret_expiry_timestamp_seconds';

export function snapshotOf({ config, status, views, nextStepAt, store }: SnapshotParts): Snapshot {
  const ends = config.clients.flatMap(({ clientId, secrets }) =>
    secrets.flatMap(({ expiresAt, ...secret }) => {
      if (expiresAt === undefined) return [];
      const labels = { client_id: clientId, secret: secret.name ?? secretId(secret) };
      return [[SECRET_ENDS, expiresAt, labels] as const];
    }),
  );
  return [
    ...summaryOf(status),
    // NaN without a next step: no comparison with it is true, so no alert fires.
    ['signing_key_next_step_timestamp_seconds', (nextStepAt ?? Number.NaN) / 1000],
    ...ends.toSorted(([, one], [, other]) => one - other).slice(0, MOST_SECRETS),
    ['view_faults', views.faultCount()],
    ...(store.warnings?.() ?? []).map((warning) => ['store_warning', 1, { warning }] as const),
  ];
}
