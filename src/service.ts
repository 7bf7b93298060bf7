// THE COMPOSITION ROOT: where the parts meet, from top to bottom, and nowhere else. Owns what stays for the life of the
// process; what a configuration says becomes a site (site.ts), and a new one takes the old one's place, whole.
import { isDeepStrictEqual } from 'node:util';
import { createAccountStates } from './accounts/account-state.ts';
import { voidChangedCredentials } from './accounts/changed-credentials.ts';
import { createPasswords } from './accounts/passwords.ts';
import type { Config, ConfigError } from './config/config.ts';
import { keepUntilRestart, needRestart } from './config/restart.ts';
import { createSecretUses } from './engine/secret-uses.ts';
import { createManagementApp, type ConfigStatus } from './http/management.ts';
import { createListener, type Listener } from './http/server.ts';
import { createTryOut } from './http/try-out.ts';
import { generateKey } from './keys/generate-key.ts';
import type { KeySet } from './keys/key-set.ts';
import { createKeyStore } from './keys/key-store.ts';
import { ensurePepper } from './keys/pepper.ts';
import { keyProblems } from './keys/readiness.ts';
import { createRotation, type Rotation, type Timer } from './keys/rotation.ts';
import { toTiming, toTimingInput, type Timing } from './keys/timing.ts';
import { createVault } from './keys/vault.ts';
import { BUILT_IN_FOLDER } from './pages/built-in-folder.ts';
import { createViews, type Views } from './pages/views.ts';
import { createKeyedHash } from './store/keyed-hash.ts';
import { buildSite, type Foundation, type Site } from './site.ts';
import { openStore } from './store/open.ts';
import { type Clock, type Store, StoreUnfit } from './store/store.ts';
import { createLog, type Log } from './telemetry/log.ts';

/** What a test may put in place of the real thing. */
export type Overrides = {
  readonly now?: Clock;
  readonly log?: Log;
  /** When the rotation job looks at the ring. */
  readonly rotationTimer?: Timer;
};

export interface Service {
  /** Resolves when both listeners accept. Rejects with one clear line for the operator. */
  start(): Promise<void>;
  /**
   * Takes another configuration over, whole. `hash` names it to whoever compares nodes. What only a start can change
   * stays as it is, and the log says so. Rejects, and changes nothing, when the new one does not work.
   */
  reconfigure(config: Config, hash: string): Promise<void>;
  /** A configuration that was not taken over: told in the log and at /readyz until another one is. */
  refuse(error: ConfigError): void;
  /** The files say what runs: what was refused before is over. */
  confirm(): void;
  /** Lets requests in flight end, then closes everything; at most 10 s. */
  stop(): Promise<void>;
}

/** Hashes at a time: Node's thread pool has four threads, and signatures need some of them. */
const PASSWORDS_AT_ONCE = 2;
const PASSWORDS_WAITING = 100;
/** A tombstone outlives every token of its grant by what clocks may differ. */
const SKEW_SECONDS = 120;

/** `hash` names the configuration to whoever compares nodes. */
export async function createService(config: Config, overrides: Overrides = {}, hash = ''): Promise<Service> {
  const { now = Date.now, log = createLog('info'), rotationTimer } = overrides;
  const store = await openStore(config.store, now, (message) => log.warn(message));
  try {
    const parts = await openKeys(config, store, now);
    const service = new RunningService(config, hash, { ...parts, store, now, log, rotationTimer });
    await service.prepare();
    return service;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The times are written over when a configuration changes them: the ring asks for them with each step. */
type KeyTimes = { -readonly [Name in keyof Timing]: Timing[Name] };

async function openKeys(config: Config, store: Store, now: Clock) {
  const vault = createVault(config.encryptionKeys);
  const timing: KeyTimes = toTiming(toTimingInput(config));
  const keys = { modulus: config.signingKeys.modulus, timing };
  const { documents } = store;
  const keyStore = createKeyStore({
    documents,
    vault,
    now,
    timing,
    generateKey: () => generateKey(keys.modulus),
  });
  // Before the pepper: a pepper without a ring means that the ring was lost.
  await keyStore.ensure();
  return { keys, keyStore, hash: createKeyedHash(await ensurePepper(documents, vault)) };
}

type Parts = Awaited<ReturnType<typeof openKeys>> & {
  readonly store: Store;
  readonly now: Clock;
  readonly log: Log;
  readonly rotationTimer: Timer | undefined;
};

class RunningService implements Service {
  readonly #parts: Parts;
  readonly #foundation: Foundation;
  readonly #rotation: Rotation;
  readonly #listen: Listener;
  readonly #management: Listener;
  #config: Config;
  #status: ConfigStatus;
  #keySet: KeySet | undefined;
  #site: Site | undefined;
  /** Swaps come one after the other: two at once could end in the wrong order. */
  #turns: Promise<unknown> = Promise.resolve();

  constructor(config: Config, hash: string, parts: Parts) {
    const { store, now, log } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#status = { hash, problem: undefined };
    this.#foundation = {
      now,
      log,
      store,
      hash: parts.hash,
      states: createAccountStates(store.documents),
      passwords: createPasswords(PASSWORDS_AT_ONCE, PASSWORDS_WAITING),
      uses: createSecretUses(store.documents, now),
      views: openViews(config, log),
      maySign: () => this.#rotation.signingAllowed(),
      tombstoneSeconds: createTombstoneSeconds(),
    };
    this.#rotation = createRotation({
      keyStore: parts.keyStore,
      now,
      onKeySet: (keySet) => this.#inTurn(() => this.#useKeys(keySet)),
      onError: (error) => log.error({ err: error }, 'the key ring could not be read or turned'),
      timer: parts.rotationTimer,
    });
    this.#listen = createListener('listen', config.listen);
    this.#management = createListener('management', config.management);
  }

  /** Reads the keys and builds the first site; nothing listens yet. */
  async prepare(): Promise<void> {
    await this.#rotation.start();
    await this.#foundation.views.watch();
  }

  async start(): Promise<void> {
    try {
      await this.#listen.start();
      await this.#management.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#listen.stop(), this.#management.stop()]);
    await this.#foundation.views.stop();
    await this.#rotation.stop();
    await this.#foundation.uses.stop();
    await this.#parts.store.close();
  }

  reconfigure(wanted: Config, hash: string): Promise<void> {
    return this.#inTurn(async () => {
      const { log } = this.#parts;
      const old = this.#config;
      const later = needRestart(old, wanted);
      if (later.length > 0) log.warn({ keys: later }, 'these settings take effect at the next start');
      const config = keepUntilRestart(old, wanted);
      await this.#use(config);
      const { viewsFolder, branding } = config;
      if (!isDeepStrictEqual([old.viewsFolder, old.branding], [viewsFolder, branding])) {
        await this.#foundation.views.configure({ overrideFolder: viewsFolder, branding });
      }
      this.#status = { hash, problem: undefined };
      log.info({ hash }, 'the configuration was taken over');
    });
  }

  refuse(error: ConfigError): void {
    this.#status = { ...this.#status, problem: error.message };
    this.#parts.log.error({ problems: error.problems }, 'the configuration is broken, the old one goes on');
  }

  confirm(): void {
    if (this.#status.problem !== undefined) this.#parts.log.info('the configuration is in order again');
    this.#status = { ...this.#status, problem: undefined };
  }

  async #useKeys(keySet: KeySet): Promise<void> {
    if (this.#site !== undefined) await this.#site.useKeys(keySet);
    this.#keySet = keySet;
    if (this.#site === undefined) await this.#use(this.#config);
  }

  /** Builds the site of `config` and puts it in the place of the one that serves. */
  async #use(config: Config): Promise<void> {
    if (this.#keySet === undefined) throw new TypeError('there are no keys yet');
    const { states, hash, now } = this.#foundation;
    const site = await buildSite(config, this.#keySet, this.#foundation);
    await voidChangedCredentials(config.users, states, hash, now);
    const { keys } = this.#parts;
    keys.modulus = config.signingKeys.modulus;
    Object.assign(keys.timing, toTiming(toTimingInput(config)));
    this.#site = site;
    this.#config = config;
    this.#listen.serve(site.app);
    this.#management.serve(this.#managementApp(config));
  }

  #managementApp(config: Config) {
    const { store, now } = this.#parts;
    return createManagementApp(
      () => readiness(store, this.#rotation, now),
      () => this.#status,
      createTryOut({ config, pages: this.#foundation.views.pages }),
    );
  }

  #inTurn<T>(turn: () => Promise<T>): Promise<T> {
    const next = this.#turns.then(turn, turn);
    this.#turns = next.catch(() => undefined);
    return next;
  }
}

function openViews({ issuer, viewsFolder, branding }: Config, log: Log): Views {
  return createViews({
    builtInFolder: BUILT_IN_FOLDER,
    overrideFolder: viewsFolder,
    branding,
    issuer,
    onProblem: ({ file, message }) => log.error({ file }, message),
    onReload: () => log.info('the views were read again'),
  });
}

async function readiness(store: Store, rotation: Rotation, now: Clock): Promise<readonly string[]> {
  const problems = keyProblems(rotation.status(), now());
  try {
    await store.ping();
    return problems;
  } catch (error) {
    // What the operator must change at the server; anything else is an outage.
    const problem =
      error instanceof StoreUnfit
        ? `the store is not safe: ${error.message}`
        : 'the store can not be reached';
    return [problem, ...problems];
  }
}

function createTombstoneSeconds(): (config: Config) => number {
  let longest = 0;
  return (config) => {
    const { accessToken } = toTimingInput(config);
    // The grant's own record lives longest of all (engine/lifetimes.ts).
    longest = Math.max(longest, accessToken, ...Object.values(config.lifetimes));
    return longest + SKEW_SECONDS;
  };
}
