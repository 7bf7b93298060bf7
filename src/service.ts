// THE COMPOSITION ROOT: where the parts meet, from top to bottom, and nowhere else. Owns what stays for the life of the
// process; what a configuration says becomes a site (site.ts), and a new one takes the old one's place, whole.
import { isDeepStrictEqual } from 'node:util';
import { createAccountStates } from './accounts/account-state.ts';
import { createPasswords } from './accounts/passwords.ts';
import type { Config, ConfigError } from './config/config.ts';
import { keepUntilRestart, needRestart } from './config/restart.ts';
import { createSecretUses } from './engine/secret-uses.ts';
import { createManagementApp, type ConfigStatus } from './http/management.ts';
import { createListener } from './http/server.ts';
import { createTryOut } from './http/try-out.ts';
import { generateKey } from './keys/generate-key.ts';
import { createKeyStore } from './keys/key-store.ts';
import { ensurePepper } from './keys/pepper.ts';
import { keyProblems } from './keys/readiness.ts';
import { createRotation, type Rotation, type Timer } from './keys/rotation.ts';
import { toTiming, toTimingInput } from './keys/timing.ts';
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
    return await assemble(config, hash, store, { now, log, rotationTimer });
  } catch (error) {
    await store.close();
    throw error;
  }
}

type Surroundings = { readonly now: Clock; readonly log: Log; readonly rotationTimer: Timer | undefined };

async function assemble(
  first: Config,
  hashOfFirst: string,
  store: Store,
  around: Surroundings,
): Promise<Service> {
  const { now, log, rotationTimer } = around;
  let site: Site | undefined;
  const vault = createVault(first.encryptionKeys);
  const timing = toTiming(toTimingInput(first));
  const keyStore = createKeyStore({
    documents: store.documents,
    vault,
    now,
    timing,
    generateKey: () => generateKey((site?.config ?? first).signingKeys.modulus),
  });
  await keyStore.ensure();
  const foundation: Foundation = {
    now,
    log,
    store,
    hash: createKeyedHash(await ensurePepper(store.documents, vault)),
    states: createAccountStates(store.documents),
    passwords: createPasswords(PASSWORDS_AT_ONCE, PASSWORDS_WAITING),
    uses: createSecretUses(store.documents, now),
    views: openViews(first, log),
    maySign: () => rotation.signingAllowed(),
    tombstoneSeconds: createTombstoneSeconds(),
  };

  let status: ConfigStatus = { hash: hashOfFirst, problem: undefined };
  const inTurn = createTurns();
  const rotation: Rotation = createRotation({
    keyStore,
    now,
    onKeySet: (keySet) =>
      inTurn(async () => {
        if (site === undefined) site = await buildSite(first, keySet, foundation);
        else await site.useKeys(keySet);
      }),
    onError: (error) => log.error({ err: error }, 'the key ring could not be read or turned'),
    timer: rotationTimer,
  });
  await rotation.start();
  if (site === undefined) throw new TypeError('the rotation job began without a key set');
  await foundation.views.watch();

  const managementOf = (config: Config) =>
    createManagementApp(
      () => readiness(store, rotation, now),
      () => status,
      createTryOut({ config, pages: foundation.views.pages }),
    );
  const listen = createListener('listen', first.listen, site.app);
  const management = createListener('management', first.management, managementOf(first));

  async function reconfigure(wanted: Config, hash: string): Promise<void> {
    const old = site?.config ?? first;
    const later = needRestart(old, wanted);
    if (later.length > 0) log.warn({ keys: later }, 'these settings take effect at the next start');
    const config = keepUntilRestart(old, wanted);
    const next = await buildSite(config, rotation.current(), foundation);
    if (!isDeepStrictEqual([old.viewsFolder, old.branding], [config.viewsFolder, config.branding])) {
      await foundation.views.configure({ overrideFolder: config.viewsFolder, branding: config.branding });
    }
    // The ring asks for its times with each step; a longer token life must count from now on.
    Object.assign(timing, toTiming(toTimingInput(config)));
    site = next;
    listen.serve(next.app);
    management.serve(managementOf(config));
    status = { hash, problem: undefined };
    log.info({ hash }, 'the configuration was taken over');
  }

  async function stop(): Promise<void> {
    await Promise.all([listen.stop(), management.stop()]);
    await foundation.views.stop();
    await rotation.stop();
    await foundation.uses.stop();
    await store.close();
  }

  return {
    async start() {
      try {
        await listen.start();
        await management.start();
      } catch (error) {
        await stop();
        throw error;
      }
    },
    reconfigure: (config, hash) => inTurn(() => reconfigure(config, hash)),
    refuse(error) {
      status = { ...status, problem: error.message };
      log.error({ problems: error.problems }, 'the configuration is broken, the old one goes on');
    },
    confirm() {
      status = { ...status, problem: undefined };
    },
    stop,
  };
}

/** One after the other: two swaps at once could end in the wrong order. */
function createTurns(): <T>(turn: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (turn) => {
    const next = last.then(turn, turn);
    last = next.catch(() => undefined);
    return next;
  };
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
    const { refreshToken, authorizationCode } = config.lifetimes;
    const { accessToken } = toTimingInput(config);
    longest = Math.max(longest, refreshToken + SKEW_SECONDS, authorizationCode, accessToken + SKEW_SECONDS);
    return longest;
  };
}
