// The measured processes: the service as an administrator runs it (the built command; limits, CORS, headers, log, audit trail and metrics
// on; the limits wide enough for one load generator, none off), and the programs that it is compared with.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hash } from '@node-rs/argon2';
import { freePort, startRedis } from '../test/world/servers.ts';
import type { Pace } from './measure.ts';
import { claimsOf, PASSWORD, personId, personName, REDIRECT_URI, RESOURCE, SCOPE, SECRET } from './names.ts';
import { serve, type Served } from './processes.ts';

export type Service = Served & { readonly name: string; readonly issuer: string };
export type Configured = { readonly name: string; readonly issuer: string; readonly file: string };

export type ServiceOptions = {
  readonly name: string;
  /** Value of the file's `store`, or one of the two stores that a stage creates. */
  readonly store: 'lmdb' | 'redis' | (string & {});
  readonly workers?: number;
  /** Number of clients besides the two that measure. */
  readonly clients?: number;
  /** Number of users in the file; the store may have more. */
  readonly people?: number;
  readonly resources?: number;
  /** More settings of the file. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The program of another build. */
  readonly program?: string;
};

/** Cost of a password hash: OWASP's recommendation, which is also the service's default. */
export const FULL_HASH = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
export const ENV = { BENCH_SECRET: SECRET };
export const LMDB = 'postern, lmdb';
export const REDIS = 'postern, redis';
export const BARE = 'bare engine';
export const OPAQUE = 'bare engine, opaque tokens';
export const NO_API = 'bare engine, tokens without an API';
const WIDE = '100000000/1m';

/** The environment of one section: everything that it started ends with it. */
export class Stage {
  readonly isQuick: boolean;
  readonly isFull: boolean;
  readonly pace: Pace;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'postern-bench-'));
  readonly #endings: (() => Promise<unknown>)[] = [];

  constructor(pace: Pace, { isQuick = false, isFull = false } = {}) {
    this.pace = pace;
    this.isQuick = isQuick;
    this.isFull = isFull;
    // An interrupted run may leave gigabytes.
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** Adds a clean-up; clean-ups run in reverse order. */
  later(ending: () => Promise<unknown>): void {
    this.#endings.unshift(ending);
  }

  async end(): Promise<void> {
    for (const ending of this.#endings.splice(0)) await ending();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async postern(options: ServiceOptions): Promise<Service> {
    return this.run(await this.configure(options), options.program);
  }

  /** Starts the service; resolves when it reports that it is up. */
  async run({ name, issuer, file }: Configured, program = 'dist/main.js'): Promise<Service> {
    const log = path.join(path.dirname(file), 'log/service.log');
    // Every build prints its name at the start, whatever follows it.
    const served = await serve([program, 'serve', '--config', file], 'Postern is', log);
    this.later(() => served.stop());
    return { name, issuer, pid: served.pid, stop: () => served.stop() };
  }

  /** Starts one service on each store. */
  async both(options: Partial<ServiceOptions> = {}): Promise<readonly [Service, Service]> {
    return [
      await this.postern({ ...options, name: LMDB, store: 'lmdb' }),
      await this.postern({ ...options, name: REDIS, store: 'redis' }),
    ];
  }

  /** Starts a program of bench/subjects. */
  async other(name: string, file: string, ...args: readonly string[]): Promise<Service> {
    const port = String(await freePort());
    const served = await serve(['--no-warnings', `bench/subjects/${file}`, port, ...args], 'ready');
    this.later(() => served.stop());
    return { name, issuer: `http://127.0.0.1:${port}`, ...served };
  }

  bareEngine = () => this.other(BARE, 'bare-engine.ts', 'jwt');
  bareOpaque = () => this.other(OPAQUE, 'bare-engine.ts', 'opaque');
  bareWithoutApi = () => this.other(NO_API, 'bare-engine.ts', 'userinfo');

  /** Writes the files of a service without starting it. */
  async configure(options: ServiceOptions): Promise<Configured> {
    const folder = path.join(this.#folder, options.name);
    // Not in the folder of the configuration, which the service watches.
    await mkdir(path.join(folder, 'log'), { recursive: true });
    const write = (file: string, content: unknown) =>
      writeFile(path.join(folder, file), JSON.stringify(content));
    await write(
      'clients.json',
      Array.from({ length: options.clients ?? 0 }, (_, index) => clientOf(index)),
    );
    await write('users.json', await people(options.people ?? 100));
    const port = await freePort();
    const issuer = `http://127.0.0.1:${port}`;
    await write('postern.json', {
      issuer,
      listen: { host: '127.0.0.1', port },
      management: { host: '127.0.0.1', port: await freePort() },
      store: await this.#store(options.store, folder),
      workers: options.workers ?? 1,
      audit: `file:${path.join(folder, 'log/audit.jsonl')}`,
      cors: { allowed_origins: ['https://app.example'] },
      rate_limits: RATE_LIMITS,
      resources: Array.from({ length: options.resources ?? 1 }, (_, index) => resourceOf(index)),
      clients_from: ['clients.json'],
      clients: CLIENTS,
      users_from: 'users.json',
      ...options.settings,
    });
    return { name: options.name, issuer, file: path.join(folder, 'postern.json') };
  }

  async #store(store: string, folder: string): Promise<string> {
    if (store === 'lmdb') return `lmdb:${path.join(folder, 'data')}`;
    if (store !== 'redis') return store;
    const redis = await startRedis();
    this.later(() => redis.stop());
    return redis.url;
  }
}

const RATE_LIMITS = {
  token: WIDE,
  introspection: WIDE,
  revocation: WIDE,
  userinfo: WIDE,
  authorization: WIDE,
  logout: WIDE,
  // Attempts count until one succeeds, so a crowd behind one address would be limited.
  sign_in: WIDE,
};

const CLIENTS = [
  {
    client_id: 'bench',
    client_secret: 'env:BENCH_SECRET',
    grant_types: ['client_credentials'],
    scope: SCOPE,
  },
  {
    client_id: 'web',
    client_secret: 'env:BENCH_SECRET',
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: `openid email profile offline_access ${SCOPE}`,
  },
];

/** Resource number `index`; the first is the audience of the tokens. */
function resourceOf(index: number) {
  const [resource, scope] = index === 0 ? [RESOURCE, SCOPE] : [`${RESOURCE}:${index}`, `${SCOPE}.${index}`];
  return { resource, scopes: [scope], introspection_clients: ['bench'] };
}

const secretOf = (index: number) => `${SECRET}-${index}`;
export const basicOf = (index: number): string => `Basic ${btoa(`service-${index}:${secretOf(index)}`)}`;

/** Client number `index`, each with its own secret, like real ones. */
function clientOf(index: number) {
  return {
    client_id: `service-${index}`,
    client_secrets: [{ hash: `sha256:${createHash('sha256').update(secretOf(index)).digest('hex')}` }],
    grant_types: ['client_credentials'],
    scope: SCOPE,
  };
}

/** All users have the same password and hash: hashing a thousand takes a while. */
async function people(count: number) {
  const password_hash = await hash(PASSWORD, FULL_HASH);
  return Array.from({ length: count }, (_, index) => ({
    id: personId(index),
    username: personName(index),
    password_hash,
    ...claimsOf(index),
  }));
}
