// The composition root: creates the shared services, from top to bottom, once per process. The application in front of them is built
// (application.ts) and replaced (replace.ts) as a whole.
import type { Config } from '../config/config.ts';
import { keepUntilRestart } from '../config/restart.ts';
import { passwordThreads } from '../config/threads.ts';
import { createManagementApp, type Status } from '../http/management.ts';
import { ROUTE_NAMES } from '../http/route-name.ts';
import { createListener } from '../http/server.ts';
import { fold, list } from '../features/index.ts';
import type { Job } from '../oidc/job.ts';
import { nextFamilyStep } from '../keys/families.ts';
import { keySettingsOf, openKeys } from '../keys/open-keys.ts';
import { Rotation, type Timer } from '../keys/rotation.ts';
import { createLimits, LIMIT_NAMES } from '../limits/limits.ts';
import { createOutgoing, type Outgoing } from '../outgoing/guard.ts';
import { AUDIT_EVENTS } from '../observability/audit.ts';
import { toText } from '../observability/metrics.ts';
import { silentTelemetry, type Telemetry } from '../observability/telemetry.ts';
import type { Process } from '../oidc/app.ts';
import { createTombstoneSeconds } from '../oidc/lifetimes.ts';
import { createSecretUses } from '../oidc/secret-uses.ts';
import { openStore } from '../store/open.ts';
import type { Clock, Store } from '../store/store.ts';
import { openUsers } from '../users/accounts.ts';
import { createUsernameIndexing } from '../users/username-index.ts';
import { createUserEvents } from '../users/user-events.ts';
import { createPasswords } from '../users/passwords.ts';
import { viewsOf } from '../views/view-files.ts';
import { createViews } from '../views/views.ts';
import { createConfigurationStatus } from './configuration-status.ts';
import { createReplacing } from './replace.ts';
import { sealAnew, watchSealed } from './sealed.ts';
import { snapshotOf, type WatchedStore, watchStore } from './status.ts';

export type ServerOptions = Readonly<{
  telemetry?: Telemetry;
  /** False in a worker: the primary has the management listener for all of them. */
  hasManagement?: boolean;
  now?: Clock;
  /** Replaces the store that the configuration names; the server closes it. */
  store?: Store;
  outgoing?: Outgoing;
  rotationTimer?: Timer;
}>;

export type Server = Awaited<ReturnType<typeof createServer>>;

/** About one second of work on two cores; further sign-ins are answered with 503 and Retry-After. */
const PASSWORDS_WAITING = 200;

type FirstConfig = Readonly<{
  config: Config;
  /** Hash of the configuration, the same on every node that runs it. */
  hash?: string;
  /** The configuration that the other workers started with, if `config` is newer. It has the settings that need a restart. */
  started?: Config;
}>;

/** Reads the keys and builds the first application; nothing listens yet. */
export async function createServer(first: FirstConfig, options: ServerOptions = {}) {
  const { telemetry = silentTelemetry(), now } = options;
  const { config: wanted, started } = first;
  const config = started === undefined ? wanted : keepUntilRestart(started, wanted);
  const opened = options.store ?? (await openStore(config.store, now, telemetry.log));
  const watched = watchStore(opened, telemetry);
  try {
    return await compose(config, first, { ...options, telemetry, watched });
  } catch (error) {
    await watched.store.close();
    throw error;
  }
}

type Opened = ServerOptions & Readonly<{ telemetry: Telemetry; watched: WatchedStore }>;

async function compose(
  config: Config,
  { config: wanted, hash: configurationHash = '' }: FirstConfig,
  { telemetry, watched, now = Date.now, hasManagement = true, ...options }: Opened,
) {
  const { log, audit, metrics } = telemetry;
  const { store } = watched;
  const { keyStore, hash } = await openKeys(config, store);
  const users = openUsers(store, hash);
  const unopened = watchSealed(config, await sealAnew(config, store, keyStore, log), store, log);
  metrics.add({ ...fold('metrics') });
  metrics.startAtZero({
    routes: ROUTE_NAMES,
    limits: LIMIT_NAMES,
    events: [...AUDIT_EVENTS, ...list('audit')],
  });

  // These survive every replacement, and so do their counters and leases.
  const passwords = createPasswords(passwordThreads(), PASSWORDS_WAITING);
  const userEvents = createUserEvents(store.documents, store.clock.now);
  const uses = createSecretUses(store.documents, now);
  const indexing = createUsernameIndexing(store, log);
  const process: Process = {
    now,
    log,
    audit,
    metrics,
    store,
    hash,
    passwords,
    maySign: (keySet) => rotation.signingAllowed(keySet),
    userEvents,
    ...users,
    limitsOf: createLimits({ counters: store.counters, hash, now, log, audit, metrics }),
    onSecretUsed: uses.note,
    openViews: (of) =>
      createViews({
        ...viewsOf(of),
        issuer: of.issuer,
        onProblem: ({ file, message }) => log.error({ file }, message),
      }),
    outgoingOf: (of) => options.outgoing ?? createOutgoing(of),
    tombstoneSecondsOf: createTombstoneSeconds(),
    longestLifetimes: new Map(),
  };
  const status = createConfigurationStatus({ running: config, wanted, hash: configurationHash }, telemetry);
  const listen = createListener('listen', config.listen);
  const management = createListener('management', config.management);

  // The application that serves, and how it is replaced.
  let running: readonly Job[] = [];
  /** Includes the jobs of earlier applications. */
  let stopped: Promise<unknown> = Promise.resolve();
  function runJobs(jobs: readonly Job[]): void {
    stopped = Promise.all([stopped, ...running.map((job) => job.stop())]);
    running = jobs;
    for (const job of jobs) job.start();
  }
  const first = { config, views: process.openViews(config), hasNewKeys: keyStore.isNew };
  const { replace, serving } = createReplacing({
    first,
    process,
    status,
    provideKeys: (algorithms) => rotation.provideKeys(algorithms),
    async swap({ handler, jobs, management: middleware }, next) {
      keyStore.change(keySettingsOf(next.config));
      listen.serve(handler);
      runJobs(jobs);
      management.serve(
        createManagementApp({
          address: next.config.management,
          status: readStatus,
          metrics: async () => toText(new Map([['', await metrics.read()]])),
          middleware,
        }),
      );
    },
  });

  // Triggers a replacement, as the caller does with a changed configuration.
  const rotation = new Rotation({
    keyStore,
    onKeySet: (keySet) => replace({ keySet }),
    onError: (error) => log.error({ err: error }, 'the key ring could not be read or rotated'),
    timer: options.rotationTimer,
  });

  async function readStatus(): Promise<Status> {
    const { message: warning } = await unopened(status.wanted());
    const problem = await watched.storeProblem();
    const problems = [...(problem === undefined ? [] : [problem]), ...rotation.problems()];
    return { problems, warning, configuration: status.read() };
  }

  metrics.describe(async () => [
    ...snapshotOf({
      ...(serving() ?? first),
      store,
      status: await readStatus(),
      nextStepAt: nextFamilyStep(rotation.ring(), keyStore.algorithms, keyStore.moment)?.at,
    }),
    ...(await unopened(status.wanted())).keys.map((key) => ['encryption_key_missing', 1, { key }] as const),
    ...(await Promise.all(running.map(async ({ snapshot }) => snapshot?.() ?? []))).flat(),
  ]);
  await rotation.start();

  const listeners = hasManagement ? [listen, management] : [listen];
  const drain = () => Promise.all(listeners.map((listener) => listener.stop()));
  let hasStarted = false;

  async function stop(): Promise<void> {
    await drain();
    // In this order, once no request is in flight.
    for (const one of [rotation, indexing]) await one.stop();
    runJobs([]);
    await stopped;
    await uses.stop();
    await passwords.close();
    await store.close();
    if (hasStarted) audit.record('service_stopped', 'success', {});
  }

  return {
    /** Resolves when both listeners accept connections. Rejects with one line for the administrator. */
    async start(): Promise<void> {
      try {
        for (const listener of listeners) await listener.start();
        hasStarted = true;
        indexing.start();
        audit.record('service_started', 'success', { configuration: configurationHash });
      } catch (error) {
        await stop();
        throw error;
      }
    },
    /** See replace.ts. A rejected configuration is reported in the log, the audit trail, the metrics and at /readyz. */
    replace,
    async reloadViews(): Promise<void> {
      if (serving()?.config.viewsFolder === undefined) return;
      await replace({ views: 'changed' }).catch((error: unknown) =>
        log.error({ err: error }, 'the views could not be reloaded'),
      );
    },
    /** Reports a configuration that could not be loaded. */
    refuse: status.refuse,
    confirm: status.confirm,
    /** The status that /readyz reports. */
    status: readStatus,
    /** Waits for requests in flight, 8 s at most, then closes everything. */
    stop,
    /** Waits for requests in flight, without the store: a request that hasn't saved yet gets 503. */
    async abandon(): Promise<void> {
      watched.cutStore();
      await drain();
    },
  };
}
