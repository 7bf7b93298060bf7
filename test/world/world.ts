// The test world: one running service with the clients and users that the cases of this suite name, created from a
// real configuration file and reached over real HTTP. A fixture: its secrets and passwords are public.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import type { Timer } from '../../src/keys/rotation.ts';
import type { Outgoing } from '../../src/outgoing/guard.ts';
import { createServer, type Server } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { freePort } from './servers.ts';
import { seedKeys } from './seed-keys.ts';
import { assertNoSecrets, listen, type Recorded } from './recorded-telemetry.ts';

export const SECRETS = {
  web: 'web-secret-Qm3vT8xZ5kN1rB7yL9wC2sD6fH4jP0a',
  web2: 'web2-secret-Wn4uS9yA6lM2qC8zK0xD3tE7gJ5iO1b',
  post: 'post-secret-Xo5tR0zB7mL3pD9aJ1yE4uF8hK6hN2c',
  svc: 'svc-secret-Yp6sQ1aC8nK4oE0bI2zF5vG9iL7gM3d',
  'first-party': 'own-secret-Ar8pQ2bE0nL6mG3dJ1iB5xH7kK9oO4f',
  rs1: 'rs1-secret-Zq7rP2bD9oJ5nF1cH3aG6wH0jM8fL4e',
} as const;
export const PASSWORDS = { alice: 'alice-password-1', bob: 'bob-password-22' } as const;
export const PEOPLE = { alice: 'usr_alice00000000000001', bob: 'usr_bob0000000000000002' } as const;
export const API = 'urn:example:api';
export const OTHER_API = 'https://other.example/api';
export const CALLBACK = 'https://app.example/cb';
export const SPA_ORIGIN = 'https://spa.example';

/** Limits for tests that send more requests than a user would, from one address. Other tests cover the limits. */
export const GENEROUS = {
  rate_limits: {
    token: '1000000/1m',
    introspection: '20000000/1m',
    revocation: '1000000/1m',
    userinfo: '1000000/1m',
    authorization: '1000000/1m',
    logout: '1000000/1m',
    sign_in: '100000/1m',
  },
};

export type StoreName = 'lmdb' | 'redis';

export type WorldOptions = {
  /** `lmdb` in a new folder, or the URL of a running Redis. */
  readonly store?: string;
  /** The configured issuer; the listener is always plain HTTP on loopback. */
  readonly issuer?: string;
  readonly now?: () => number;
  /** When the service checks its key ring (default: every few seconds). For clocks that a test moves far. */
  readonly rotationTimer?: Timer;
  /** Additional members of Alice and Bob: groups, claims. */
  readonly people?: Readonly<Partial<Record<keyof typeof PEOPLE, object>>>;
  /** The number of additional users: `person1` and so on, each with Alice's password. */
  readonly crowd?: number;
  /** The service generates its keys; otherwise it finds those of an earlier world in its store. */
  readonly hasOwnKeys?: boolean;
  /** Replaces or wraps the store of the service. */
  readonly handStore?: (store: Store) => Store;
  /** Replaces the service's outbound requests. */
  readonly outgoing?: Outgoing;
  /** Variables besides those that the references of the file need. */
  readonly env?: NodeJS.ProcessEnv;
  /** Merged over the file, key by key. */
  readonly config?: Readonly<Record<string, unknown>>;
};

export type World = {
  readonly issuer: string;
  /** The listener's own origin plus the issuer's path: where requests are sent. */
  readonly base: string;
  readonly management: string;
  readonly folder: string;
  readonly configFile: string;
  stop(): Promise<void>;
};

/** The output of `postern user hash` for these passwords. */
export const PASSWORD_HASHES = {
  alice: '$argon2id$v=19$m=19456,t=2,p=1$iBolPZunqH7SxD7vT3JoyQ$Eg1jvhIcnHxguOWGJZHtDlZWFCYp41J9nmEJUL3SuXM',
  bob: '$argon2id$v=19$m=19456,t=2,p=1$j17x405nv08wNXt0+NtvhQ$0C05gRukyWOUP34BiZ8LyZYzAN2jixk/m8Q8zUXTg4s',
} as const;

/** Writes a configuration file and its users into `folder`. The file is JSON, which the service accepts like YAML. */
export async function writeWorldConfig(
  folder: string,
  options: WorldOptions = {},
  ports?: readonly [number, number],
): Promise<World> {
  const [port, managementPort] = ports ?? [await freePort(), await freePort()];
  const issuer = options.issuer ?? `http://127.0.0.1:${port}`;
  await writeFile(path.join(folder, 'users.json'), JSON.stringify({ users: people(options) }));
  const file = {
    issuer,
    listen: { host: '127.0.0.1', port },
    management: { host: '127.0.0.1', port: managementPort },
    store: options.store ?? 'lmdb:data',
    encryption_keys: ['env:TEST_ENCRYPTION_KEY'],
    cookie_keys: ['env:TEST_COOKIE_KEY'],
    cors: { allowed_origins: [SPA_ORIGIN] },
    resources: [
      { resource: API, scopes: ['reports.read', 'reports.write'], introspection_clients: ['rs1'] },
      { resource: OTHER_API, scopes: ['other.read'], access_token: '5m' },
    ],
    clients: clients(),
    users_from: 'users.json',
    ...options.config,
    // Each sign-in asks for consent, so that tests don't depend on each other; remembered consents have their own tests.
    lifetimes: { consent: '0s', ...(options.config?.['lifetimes'] as object | undefined) },
  };
  const configFile = path.join(folder, 'postern.json');
  await writeFile(configFile, JSON.stringify(file, undefined, 2));
  return {
    folder,
    configFile,
    issuer,
    base: `http://127.0.0.1:${port}${new URL(issuer).pathname.replace(/\/$/, '')}`,
    management: `http://127.0.0.1:${managementPort}`,
    stop: () => Promise.resolve(),
  };
}

/** Variables that the references of the configuration file need; also for processes that a test starts. */
export const WORLD_ENV = {
  TEST_ENCRYPTION_KEY: 'qY7cX2vLr0Zt5nUeKf9hJ4mPwB1sDgA8oC6iE3xTzRk',
  TEST_COOKIE_KEY: 'cookie-Ab3Cd5Ef7Gh9Ij1KlMn0Op2Qr4St6Uv8Wx',
  ...Object.fromEntries(
    Object.entries(SECRETS).map(([name, secret]) => [`TEST_${name.toUpperCase().replace('-', '_')}`, secret]),
  ),
};

/** Seeds the keys before the first process of a configuration starts, which then generates none. */
export async function seedStore(configFile: string): Promise<void> {
  const config = await loadConfig(configFile, { env: WORLD_ENV });
  const store = await openStore(config.store, () => Date.now());
  await seedKeys(config, store);
  await store.close();
}

/** A world inside this process, whose parts the test can inspect. */
export type OpenWorld = World & {
  /** The store of the service: LMDB forbids one process to open a folder twice. */
  readonly openedStore: Store;
  readonly recorded: Recorded;
  readonly server: Server;
  /** Makes the service apply another configuration, as after a change of its file. */
  readonly reload: (
    config: Readonly<Record<string, unknown>>,
    people?: WorldOptions['people'],
  ) => Promise<void>;
};

export async function startWorld(options: WorldOptions = {}): Promise<OpenWorld> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-'));
  const ports = [await freePort(), await freePort()] as const;
  const written = await writeWorldConfig(folder, options, ports);
  const config = await loadConfig(written.configFile, { env: { ...WORLD_ENV, ...options.env } });
  // Date is looked up at each call, so that a clock which the test moves later counts.
  const now = options.now ?? (() => Date.now());
  const recorded = listen();
  const openedStore = await openStore(config.store, now, recorded.telemetry.log);
  if (options.hasOwnKeys !== true) await seedKeys(config, openedStore);
  const server = await createServer(
    { config },
    {
      telemetry: recorded.telemetry,
      store: options.handStore?.(openedStore) ?? openedStore,
      now,
      ...(options.outgoing && { outgoing: options.outgoing }),
      ...(options.rotationTimer && { rotationTimer: options.rotationTimer }),
    },
  );
  await server.start();
  // A service in a separate process would exit (cli/keep-serving.ts).
  const uncaught: unknown[] = [];
  const noteUncaught = (error: unknown): void => void uncaught.push(error);
  process.on('uncaughtException', noteUncaught).on('unhandledRejection', noteUncaught);
  return {
    ...written,
    openedStore,
    recorded,
    server,
    async reload(changed, changedPeople = options.people) {
      await writeWorldConfig(folder, { ...options, config: changed, people: changedPeople ?? {} }, ports);
      const next = await loadConfig(written.configFile, { env: WORLD_ENV });
      await server.replace({ config: next, hash: `after a reload at ${performance.now()}` });
    },
    async stop() {
      await server.stop();
      process.off('uncaughtException', noteUncaught).off('unhandledRejection', noteUncaught);
      if (uncaught.length > 0) throw new Error('an error was not caught', { cause: uncaught[0] });
      assertNoSecrets(recorded, [...Object.values(WORLD_ENV), ...Object.values(PASSWORDS)]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The clients of the file, each with its entry of `changes` merged in. */
export function worldClients(changes: Readonly<Record<string, object>> = {}) {
  return clients().map((client) => ({ ...client, ...changes[client.client_id] }));
}

function clients() {
  const code = ['authorization_code', 'refresh_token'];
  const personScope = 'openid email profile offline_access reports.read';
  const web = {
    client_name: 'Web app',
    grant_types: code,
    scope: personScope,
    post_logout_redirect_uris: ['https://app.example/out'],
  };
  return [
    { ...web, client_id: 'web', client_secret: 'env:TEST_WEB', redirect_uris: [CALLBACK] },
    { ...web, client_id: 'web2', client_secret: 'env:TEST_WEB2', redirect_uris: ['https://app2.example/cb'] },
    {
      ...web,
      client_id: 'post',
      client_secret: 'env:TEST_POST',
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: [CALLBACK],
    },
    {
      client_id: 'spa',
      client_name: 'Single-page app',
      token_endpoint_auth_method: 'none',
      grant_types: code,
      scope: personScope,
      redirect_uris: [`${SPA_ORIGIN}/cb`],
    },
    {
      client_id: 'native',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: code,
      scope: 'openid offline_access',
      redirect_uris: ['http://127.0.0.1/cb'],
    },
    {
      client_id: 'first-party',
      client_secret: 'env:TEST_FIRST_PARTY',
      grant_types: ['authorization_code'],
      scope: 'openid email reports.read',
      redirect_uris: ['https://own.example/cb'],
      consent: 'implicit',
    },
    {
      client_id: 'svc',
      client_secret: 'env:TEST_SVC',
      grant_types: ['client_credentials'],
      scope: 'reports.read reports.write other.read',
      default_scope: 'reports.read',
    },
    {
      client_id: 'rs1',
      client_secret: 'env:TEST_RS1',
      grant_types: ['client_credentials'],
      scope: 'reports.read',
    },
  ];
}

function people({ crowd = 0, people: more }: WorldOptions) {
  return [
    {
      id: PEOPLE.alice,
      username: 'alice',
      password_hash: PASSWORD_HASHES.alice,
      email: 'alice@example.com',
      email_verified: true,
      name: 'Alice Example',
      given_name: 'Alice',
      family_name: 'Example',
      ...more?.alice,
    },
    {
      id: PEOPLE.bob,
      username: 'bob',
      password_hash: PASSWORD_HASHES.bob,
      email: 'bob@example.com',
      ...more?.bob,
    },
    ...Array.from({ length: crowd }, (_, index) => ({
      id: `usr_${String(index + 1).padStart(20, '0')}`,
      username: `person${index + 1}`,
      password_hash: PASSWORD_HASHES.alice,
    })),
  ];
}
