// THE COMPOSITION ROOT: where the parts meet, from top to bottom, and nowhere else. A service is built, started and
// stopped; it is never changed while it runs, except that a new engine instance takes the place of the old one.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccountStates } from './accounts/account-state.ts';
import { createAccounts } from './accounts/accounts.ts';
import { createPasswords } from './accounts/passwords.ts';
import { createSignIn } from './accounts/sign-in.ts';
import type { Config } from './config/config.ts';
import { createEngine, type EngineParts } from './engine/engine.ts';
import { createInteractions } from './engine/interactions.ts';
import { LiveEngine } from './engine/live-engine.ts';
import { createApp } from './http/app.ts';
import { createManagementApp } from './http/management.ts';
import { createListener } from './http/server.ts';
import { createTryOut } from './http/try-out.ts';
import { createCsrf } from './interaction/csrf.ts';
import { interactionRoutes } from './interaction/routes.ts';
import { createShow } from './interaction/show.ts';
import { generateKey } from './keys/generate-key.ts';
import { createKeyStore, type KeyStore } from './keys/key-store.ts';
import { ensurePepper } from './keys/pepper.ts';
import { keyProblems } from './keys/readiness.ts';
import { createRotation, type Rotation, type Timer } from './keys/rotation.ts';
import { toTiming, toTimingInput } from './keys/timing.ts';
import { createVault } from './keys/vault.ts';
import { createLimits } from './limits/limits.ts';
import { createAssets } from './pages/assets.ts';
import { createPages } from './pages/pages.ts';
import { createKeyedHash } from './store/keyed-hash.ts';
import { openStore } from './store/open.ts';
import type { Clock, Store } from './store/store.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { createRevokedTokens } from './tokens/revoked-tokens.ts';

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
  /** Lets requests in flight end, then closes everything; at most 10 s. */
  stop(): Promise<void>;
}

/** views/ lies beside src/ and beside dist/ alike. */
const BUILT_IN_VIEWS = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'views');
/** Hashes at a time: Node's thread pool has four threads, and signatures need some of them. */
const PASSWORDS_AT_ONCE = 2;
const PASSWORDS_WAITING = 100;
/** A tombstone outlives every token of its grant by what clocks may differ. */
const SKEW_SECONDS = 120;

export async function createService(config: Config, overrides: Overrides = {}): Promise<Service> {
  const { now = Date.now, log = createLog('info'), rotationTimer } = overrides;
  const store = await openStore(config.store, now);
  try {
    return await assemble(config, store, { now, log, rotationTimer });
  } catch (error) {
    await store.close();
    throw error;
  }
}

type Surroundings = { readonly now: Clock; readonly log: Log; readonly rotationTimer: Timer | undefined };

async function assemble(config: Config, store: Store, around: Surroundings): Promise<Service> {
  const { now, log } = around;
  const vault = createVault(config.encryptionKeys);
  const keyStore = createKeyStore({
    documents: store.documents,
    vault,
    now,
    timing: toTiming(toTimingInput(config)),
    generateKey: () => generateKey(config.signingKeys.modulus),
  });
  await keyStore.ensure();
  const hash = createKeyedHash(await ensurePepper(store.documents, vault));

  const revoked = createRevokedTokens(store.records, hash, now);
  const limits = createLimits({
    counters: store.counters,
    hash,
    rates: config.rateLimits,
    onLimited: (limit) => log.warn({ limit }, 'limit reached'),
  });
  const accounts = createAccounts(config.users, createAccountStates(store.documents));
  const passwords = createPasswords(PASSWORDS_AT_ONCE, PASSWORDS_WAITING);
  const signIn = createSignIn(accounts, passwords, (account, address) =>
    limits.takeSignInAttempt(account, address),
  );
  const { pages, assets } = createViews(config, log);

  const adapter = { records: store.records, hash, tombstoneSeconds: longestTokenLife(config) + SKEW_SECONDS };
  const { verify: verifySlow } = passwords;
  const engineParts = { config, adapter, accounts, pages, now, revoked, limits, log, verifySlow };
  const { live, rotation } = await startEngine(engineParts, keyStore, around.rotationTimer);

  const csrf = createCsrf(hash);
  const interactions = interactionRoutes({
    issuer: config.issuer,
    interactions: createInteractions(live, adapter),
    signIn,
    csrf,
    show: createShow({ config, accounts, pages, csrf, now }),
  });
  const app = createApp({ config, live, interactions, pages, assets, limits, log });
  const management = createManagementApp(
    () => readiness(store, rotation, now),
    createTryOut({ config, pages }),
  );

  return listening(
    [
      createListener('listen', config.listen, app),
      createListener('management', config.management, management),
    ],
    async () => {
      await rotation.stop();
      await store.close();
    },
  );
}

/** The first engine instance, and the job that puts another in its place when the keys change. */
async function startEngine(
  parts: Omit<EngineParts, 'keySet' | 'maySign'>,
  keyStore: KeyStore,
  timer: Timer | undefined,
) {
  let live: LiveEngine | undefined;
  const rotation: Rotation = createRotation({
    keyStore,
    now: parts.now,
    onKeySet: async (keySet) => {
      const engine = await createEngine({ ...parts, keySet, maySign: () => rotation.signingAllowed() });
      if (live === undefined) live = new LiveEngine(engine);
      else live.swap(engine);
    },
    onError: (error) => parts.log.error({ err: error }, 'the key ring could not be read or turned'),
    timer,
  });
  await rotation.start();
  if (live === undefined) throw new TypeError('the rotation job began without a key set');
  return { live, rotation };
}

function listening(
  listeners: readonly ReturnType<typeof createListener>[],
  close: () => Promise<void>,
): Service {
  async function stop(): Promise<void> {
    await Promise.all(listeners.map((listener) => listener.stop()));
    await close();
  }

  return {
    async start() {
      try {
        for (const listener of listeners) await listener.start();
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop,
  };
}

function createViews({ issuer, viewsFolder, branding }: Config, log: Log) {
  const folders = { builtInFolder: BUILT_IN_VIEWS, overrideFolder: viewsFolder, branding };
  const assets = createAssets(folders);
  const pages = createPages({
    ...folders,
    assetUrl: (name) => `${issuer}/${assets.url(name)}`,
    onProblem: ({ file, message }) => log.error({ file }, message),
  });
  return { assets, pages };
}

async function readiness(store: Store, rotation: Rotation, now: Clock): Promise<readonly string[]> {
  const problems = keyProblems(rotation.status(), now());
  try {
    await store.ping();
    return problems;
  } catch {
    return ['the store can not be reached', ...problems];
  }
}

function longestTokenLife(config: Config): number {
  const { refreshToken, authorizationCode } = config.lifetimes;
  return Math.max(refreshToken, authorizationCode, toTimingInput(config).accessToken);
}
