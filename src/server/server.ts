// THE COMPOSITION ROOT: where the parts meet, from top to bottom, and nowhere else. Owns what stays for the life of the
// process; what a configuration says becomes a site (site.ts), and a new one takes the old one's place, whole.
import { isDeepStrictEqual } from 'node:util';
import { createAccountStates } from '../users/account-state.ts';
import { voidChangedCredentials } from '../users/changed-credentials.ts';
import { tellShadowed, tellWeakHashes } from '../users/notices.ts';
import { createPasswords } from '../users/passwords.ts';
import { createPeople } from '../users/people.ts';
import {
  lossDetector,
  problemsOf,
  reportKeys,
  reportPending,
  snapshotOf,
  type WatchedStore,
  watchStore,
  withPending,
} from './status.ts';
import type { Config, ConfigError } from '../config/config.ts';
import { keepUntilRestart } from '../config/restart.ts';
import { passwordThreads } from '../config/threads.ts';
import { rememberProven } from '../oidc/client-authentication.ts';
import { createTombstoneSeconds } from '../oidc/lifetimes.ts';
import { createSecretUses } from '../oidc/secret-uses.ts';
import { createManagementApp, type ConfigStatus, type Status } from '../http/management.ts';
import { createListener, type Listener } from '../http/server.ts';
import { createTryOut } from '../http/try-out.ts';
import type { KeySet } from '../keys/key-set.ts';
import { changeKeySettings, openKeys, type OpenKeys } from '../keys/open-keys.ts';
import { createRotation, type Rotation, type Timer } from '../keys/rotation.ts';
import { createReportedLimits } from '../limits/report.ts';
import { buildSite, openViews, type Foundation, type Site } from './application.ts';
import { openStore } from '../store/open.ts';
import type { Clock, Store } from '../store/store.ts';
import { toText } from '../observability/metrics.ts';
import { silentTelemetry, type Telemetry } from '../observability/telemetry.ts';

/** What a test may put in place of the real thing. */
export type Overrides = {
  /** False in a worker: the primary has the management listener for all of them. */
  readonly hasManagement?: boolean;
  readonly now?: Clock;
  /** By default nobody is told anything. */
  readonly telemetry?: Telemetry;
  /** Instead of the one that the configuration names; the service closes it. */
  readonly store?: Store;
  /** When the rotation job looks at the ring. */
  readonly rotationTimer?: Timer;
  /** False: the engine answers every request by itself, also those that a short way in front of it would. */
  readonly hasShortWays?: boolean;
};

export interface Service {
  /** Resolves when both listeners accept. Rejects with one clear line for the operator. */
  start(): Promise<void>;
  /**
   * Takes another configuration over, whole. `hash` names it to whoever compares nodes. What only a start can change
   * stays as it is, and the log says so. Rejects, and changes nothing but what /readyz says, when the new one does not work.
   */
  reconfigure(config: Config, hash: string): Promise<void>;
  /** A configuration that was not taken over: told in the log and at /readyz until another one is. */
  refuse(error: ConfigError): void;
  /** The files say what runs: what was refused before is over. */
  confirm(): void;
  /** What /readyz says. */
  status(): Promise<Status>;
  /** Lets requests in flight end, then closes everything; at most 10 s. */
  stop(): Promise<void>;
}

/** A crowd of so many is served within about a second on two cores; who comes then is told to come back. */
const PASSWORDS_WAITING = 200;

/** `hash` names the configuration to whoever compares nodes. */
export async function createService(config: Config, overrides: Overrides = {}, hash = ''): Promise<Service> {
  const { now = Date.now, telemetry = silentTelemetry(), rotationTimer, hasManagement = true } = overrides;
  const opened = overrides.store ?? (await openStore(config.store, overrides.now, telemetry.log));
  const watched = watchStore(opened, telemetry);
  try {
    const parts = await openKeys(config, watched.store);
    const given = { ...overrides, ...watched, now, telemetry, rotationTimer, hasManagement };
    const service = new RunningService(config, hash, { ...parts, ...given });
    await service.prepare();
    return service;
  } catch (error) {
    await watched.store.close();
    throw error;
  }
}

type Parts = OpenKeys &
  WatchedStore & {
    readonly now: Clock;
    readonly telemetry: Telemetry;
    readonly rotationTimer: Timer | undefined;
    readonly hasManagement: boolean;
    readonly hasShortWays?: boolean;
  };

class RunningService implements Service {
  readonly #parts: Parts;
  readonly #foundation: Foundation;
  readonly #rotation: Rotation;
  readonly #listen: Listener;
  readonly #management: Listener;
  #config: Config;
  /** What the file says: the same, but for what waits for a restart. */
  #wanted: Config;
  #status: ConfigStatus;
  #keySet: KeySet | undefined;
  #site: Site | undefined;
  #hasStarted = false;
  /** Swaps come one after the other: two at once could end in the wrong order. */
  #turns: Promise<unknown> = Promise.resolve();

  constructor(config: Config, hash: string, parts: Parts) {
    const { store, now, telemetry } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#wanted = config;
    this.#status = { hash, problem: undefined };
    const passwords = createPasswords(passwordThreads(), PASSWORDS_WAITING);
    this.#foundation = {
      ...parts,
      states: createAccountStates(store.documents),
      passwords,
      verifySlow: rememberProven((phc, secret) => passwords.verify(phc, secret, 'client secret')),
      limitsOf: createReportedLimits({ ...parts, counters: store.counters }),
      uses: createSecretUses(store.documents, now),
      views: openViews(config, telemetry.log),
      maySign: () => this.#rotation.signingAllowed(),
      tombstoneSeconds: createTombstoneSeconds(),
    };
    this.#rotation = createRotation({
      keyStore: parts.keyStore,
      now: store.clock.now,
      onKeySet: (keySet) => this.#inTurn(() => this.#useKeys(keySet)),
      onError: (error) => telemetry.log.error({ err: error }, 'the key ring could not be read or turned'),
      // A folder of lmdb that is put back under a running service is noticed by its files.
      beforeTurn: config.store.engine === 'redis' ? lossDetector(store, telemetry) : undefined,
      timer: parts.rotationTimer,
    });
    this.#listen = createListener('listen', config.listen);
    this.#management = createListener('management', config.management);
    telemetry.metrics.describe(() => this.#snapshot());
  }

  /** Reads the keys and builds the first site; nothing listens yet. */
  async prepare(): Promise<void> {
    await this.#rotation.start();
    await this.#foundation.views.watch();
    tellWeakHashes(this.#config.users, this.#parts.telemetry.log);
  }

  async start(): Promise<void> {
    try {
      await this.#listen.start();
      if (this.#parts.hasManagement) await this.#management.start();
      this.#hasStarted = true;
      this.#parts.telemetry.audit.record('service_started', 'success', {
        configuration: this.#status.hash,
      });
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async status(): Promise<Status> {
    const problems = await problemsOf(this.#parts, this.#rotation);
    return { problems, configuration: await this.#configuration() };
  }

  async stop(): Promise<void> {
    await Promise.all([this.#listen.stop(), this.#management.stop()]);
    await this.#foundation.views.stop();
    await this.#rotation.stop();
    await this.#foundation.uses.stop();
    await this.#foundation.passwords.close();
    await this.#parts.store.close();
    if (this.#hasStarted) this.#parts.telemetry.audit.record('service_stopped', 'success', {});
  }

  reconfigure(wanted: Config, hash: string): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#takeOver(wanted, hash);
      } catch (error) {
        this.#tellNotTaken(error instanceof Error ? error.message : String(error));
        throw error;
      }
    });
  }

  async #takeOver(wanted: Config, hash: string): Promise<void> {
    const { log, audit, metrics } = this.#parts.telemetry;
    const old = this.#config;
    const config = keepUntilRestart(old, wanted);
    if (config.store.engine === 'redis') await this.#parts.store.takeCredentials?.(config.store.url);
    await this.#use(config);
    const { viewsFolder, branding } = config;
    if (!isDeepStrictEqual([old.viewsFolder, old.branding], [viewsFolder, branding])) {
      await this.#foundation.views.configure({ overrideFolder: viewsFolder, branding });
    }
    this.#status = { hash, problem: undefined };
    this.#wanted = wanted;
    reportPending(await this.#configuration(), log);
    log.info({ hash }, 'the configuration was taken over');
    audit.record('configuration_changed', 'success', { configuration: hash });
    metrics.reload('taken');
  }

  #configuration(): Promise<ConfigStatus> {
    return withPending(this.#status, this.#config, this.#wanted, this.#parts.store);
  }

  /** Once, however often it is tried again. */
  #tellNotTaken(reason: string): void {
    const problem = `the configuration could not be taken over: ${reason}`;
    if (problem !== this.#status.problem) this.#tellRefused(problem);
  }

  #tellRefused(problem: string): void {
    const { audit, metrics } = this.#parts.telemetry;
    this.#status = { ...this.#status, problem };
    audit.record('configuration_changed', 'failure', { configuration: this.#status.hash });
    metrics.reload('refused');
  }

  refuse(error: ConfigError): void {
    const { log } = this.#parts.telemetry;
    log.error({ problems: error.problems }, 'the configuration is broken, the old one goes on');
    this.#tellRefused(error.message);
  }

  confirm(): void {
    if (this.#status.problem !== undefined)
      this.#parts.telemetry.log.info('the configuration is in order again');
    this.#status = { ...this.#status, problem: undefined };
  }

  async #useKeys(keySet: KeySet): Promise<void> {
    const isFirst = this.#site === undefined;
    await this.#site?.useKeys(keySet);
    this.#keySet = keySet;
    if (isFirst) await this.#use(this.#config);
    reportKeys(keySet, isFirst && this.#parts.keyStore.isNew, this.#parts.telemetry);
  }

  /** Builds the site of `config` and puts it in the place of the one that serves. */
  async #use(config: Config): Promise<void> {
    if (this.#keySet === undefined) throw new TypeError('there are no keys yet');
    const { states, hash, store } = this.#foundation;
    const site = await buildSite(config, this.#keySet, this.#foundation);
    await voidChangedCredentials(config.users, states, hash, store.clock.now);
    await tellShadowed(config.users, createPeople(this.#parts.store.documents), this.#parts.telemetry.log);
    changeKeySettings(this.#parts.settings, config);
    this.#site = site;
    this.#config = config;
    this.#listen.serve(site.app);
    this.#management.serve(this.#managementApp(config));
  }

  #managementApp(config: Config) {
    return createManagementApp({
      address: config.management,
      status: () => this.status(),
      metrics: async () => toText(new Map([['', await this.#parts.telemetry.metrics.read()]])),
      tryOut: createTryOut({ config, pages: this.#foundation.views.pages }),
    });
  }

  async #snapshot() {
    const { store, settings } = this.#parts;
    return snapshotOf({
      config: this.#config,
      status: await this.status(),
      rotation: this.#rotation,
      timing: settings.timing,
      uses: this.#foundation.uses,
      storeWarnings: store.warnings?.() ?? [],
      now: store.clock.now,
    });
  }

  #inTurn<T>(turn: () => Promise<T>): Promise<T> {
    const next = this.#turns.then(turn, turn);
    this.#turns = next.catch(() => undefined);
    return next;
  }
}
