// The engine behind the real middleware list, over a real store that counts: what application.ts joins, without its record
// store being out of reach. Speaks HTTP on loopback.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { createFactorStore } from '../../../src/users/factors.ts';
import { createAccounts } from '../../../src/users/accounts.ts';
import { createTrustedBrowsers } from '../../../src/users/trusted-browsers.ts';
import { createPasswords } from '../../../src/users/passwords.ts';
import { createPeople } from '../../../src/users/people.ts';
import { createMakePassword } from '../../../src/users/new-passwords.ts';
import { createOneTimeLinks } from '../../../src/users/one-time-links.ts';
import { createSignIn } from '../../../src/users/sign-in.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createEngine, type Engine } from '../../../src/oidc/provider.ts';
import { createBrowserSessions } from '../../../src/oidc/browser-session.ts';
import { createInteractions } from '../../../src/oidc/interactions.ts';
import { unitOfWork } from '../../../src/oidc/unit-of-work.ts';
import { createApp } from '../../../src/http/app.ts';
import { createCsrf } from '../../../src/interaction/csrf.ts';
import { interactionRoutes } from '../../../src/interaction/routes.ts';
import { createShow } from '../../../src/interaction/show.ts';
import type { KeySet } from '../../../src/keys/key-set.ts';
import { createLimits } from '../../../src/limits/limits.ts';
import { createAssets } from '../../../src/views/assets.ts';
import { createPages } from '../../../src/views/pages.ts';
import { createKeyedHash } from '../../../src/store/keyed-hash.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createUnitOfWork } from '../../../src/store/unit-of-work.ts';
import { silentTelemetry } from '../../../src/observability/telemetry.ts';
import { createRevokedTokens } from '../../../src/tokens/revoked-tokens.ts';
import { freePort } from '../../world/servers.ts';
import { type World, WORLD_ENV, writeWorldConfig } from '../../world/world.ts';
import { realKeys } from '../keys/keys.fixture.ts';
import { countCalls } from './counting-records.fixture.ts';

const VIEWS = path.join(import.meta.dirname, '..', '..', '..', 'views');
const now = () => Date.now();

export type EngineWorld = World & {
  readonly engine: Engine;
  /** What was asked of the record store, as `AccessToken.save`. */
  readonly calls: string[];
};

export async function startEngine(): Promise<EngineWorld> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-engine-'));
  const ports = [await freePort(), await freePort()] as const;
  const written = await writeWorldConfig(folder, {}, ports);
  const config = await loadConfig(written.configFile, { env: WORLD_ENV });
  const store = await openLmdb({ folder: path.join(folder, 'data'), now });
  const { app, engine, calls } = await assemble(config, store);
  const handle = app.callback();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(ports[0], '127.0.0.1', resolve));
  return {
    ...written,
    folder,
    management: '',
    engine,
    calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function assemble(config: Config, store: Store) {
  const telemetry = silentTelemetry();
  const hash = createKeyedHash(Buffer.alloc(32, 1));
  const { records: counted, calls } = countCalls(store.records);
  const records = createUnitOfWork({ ...store, records: counted }, now);
  const people = createPeople(store.documents);
  const states = createAccountStates(store.documents);
  const trustedBrowsers = createTrustedBrowsers(hash, now, randomBytes);
  const accounts = createAccounts({
    users: config.users,
    states,
    people,
    remembered: { states, people },
    clock: store.clock,
  });
  const limits = createLimits({
    counters: store.counters,
    hash,
    now,
    onLimited: () => undefined,
  })(config.rateLimits);
  const folders = { builtInFolder: VIEWS, overrideFolder: undefined, branding: config.branding };
  const assets = createAssets(folders);
  const pages = createPages({
    ...folders,
    assetUrl: (name) => `${config.issuer}/${assets.url(name)}`,
    onProblem: ({ message }) => {
      throw new Error(message);
    },
  });
  const adapter = {
    records,
    hash,
    clock: { now, ahead: 0 },
    accounts,
    tombstoneSeconds: 3600,
    onDamaged: () => undefined,
  };
  const revoked = createRevokedTokens(records, hash, now);
  const keySet = await firstKeySet();
  const verifySlow = async () => false;
  const factors = createFactorStore(records.documents, hash);
  const logoutJobs = { add: async () => undefined };
  const shared = { config, adapter, accounts, factors, pages, now, revoked, limits, telemetry, verifySlow };
  const engine = await createEngine({ ...shared, logoutJobs, keySet, maySign: () => true });
  const csrf = createCsrf(hash);
  const interactions = interactionRoutes({
    issuer: config.issuer,
    interactions: createInteractions(engine, adapter, telemetry.audit),
    signIn: createSignIn({
      accounts,
      people,
      passwords: createPasswords(2, 10),
      trustedBrowsers,
      countAttempt: (attempt) => limits.takeSignInAttempt(attempt),
      now,
    }),
    csrf,
    accounts,
    show: createShow({ config, accounts, pages, csrf }),
    audit: telemetry.audit,
    link: {
      config,
      links: createOneTimeLinks({ records, states, hash, random: randomBytes, now }),
      accounts,
      people,
      makePassword: createMakePassword(),
      storeNow: now,
      trustedBrowsers,
      pages,
      sessions: createBrowserSessions(engine),
      endVoid: async () => undefined,
      secondFactors: undefined,
    },
  });
  return {
    engine,
    calls,
    app: createApp({
      config,
      engine,
      unitOfWork: unitOfWork(adapter, config.issuer),
      interactions,
      ownPages: () => undefined,
      pages,
      assets,
      limits,
      telemetry,
    }),
  };
}

async function firstKeySet(): Promise<KeySet> {
  const [active, next] = await realKeys();
  if (active === undefined || next === undefined) throw new Error('two keys');
  return {
    generation: 1,
    active: { kid: active.kid, privateJwk: active.privateJwk },
    others: [],
    reserve: [{ kid: next.kid, privateJwk: next.privateJwk }],
    published: [active.publicJwk, next.publicJwk],
  };
}
