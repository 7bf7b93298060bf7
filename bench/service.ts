// What is measured, as processes: the service as a user runs it (the built command; limits, CORS, headers, log, audit trail and metrics
// on; the limits wide enough for one load generator, none off), and what it is compared with.
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
  /** As in the file, or one of the two that a stage makes. */
  readonly store: 'lmdb' | 'redis' | (string & {});
  readonly workers?: number;
  /** Besides the two that measure. */
  readonly clients?: number;
  /** In the file; the store may have more. */
  readonly people?: number;
  readonly resources?: number;
  /** More of the file. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Of another build. */
  readonly program?: string;
};

/** What a password hash costs: OWASP's advice, which is the service's own. */
export const FULL_HASH = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
export const ENV = { BENCH_SECRET: SECRET };
export const LMDB = 'postern, lmdb';
export const REDIS = 'postern, redis';
export const BARE = 'bare engine';
export const OPAQUE = 'bare engine, opaque tokens';
const WIDE = '100000000/1m';

/** One for each section: what it started ends with it. */
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
    // A run that is broken off may leave gigabytes.
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** In the opposite order. */
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

  /** Once it says that it is up. */
  async run({ name, issuer, file }: Configured, program = 'dist/main.js'): Promise<Service> {
    const log = path.join(path.dirname(file), 'log/service.log');
    const served = await serve([program, 'serve', '--config', file], 'Postern is running.', log);
    this.later(() => served.stop());
    return { name, issuer, pid: served.pid, stop: () => served.stop() };
  }

  /** One on each store. */
  async both(options: Partial<ServiceOptions> = {}): Promise<readonly [Service, Service]> {
    return [
      await this.postern({ ...options, name: LMDB, store: 'lmdb' }),
      await this.postern({ ...options, name: REDIS, store: 'redis' }),
    ];
  }

  /** A program of bench/subjects. */
  async other(name: string, file: string, ...args: readonly string[]): Promise<Service> {
    const port = String(await freePort());
    const served = await serve(['--no-warnings', `bench/subjects/${file}`, port, ...args], 'ready');
    this.later(() => served.stop());
    return { name, issuer: `http://127.0.0.1:${port}`, ...served };
  }

  bareEngine = () => this.other(BARE, 'bare-engine.ts', 'jwt');
  bareOpaque = () => this.other(OPAQUE, 'bare-engine.ts', 'opaque');

  /** Writes the files of a service that isn't running yet. */
  async configure(options: ServiceOptions): Promise<Configured> {
    const folder = path.join(this.#folder, options.name);
    // Not beside the configuration, whose folder is watched.
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
  // Attempts count until they were right, so a crowd behind one address would be made to wait.
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

/** The first is the one that tokens are for. */
function resourceOf(index: number) {
  const [resource, scope] = index === 0 ? [RESOURCE, SCOPE] : [`${RESOURCE}:${index}`, `${SCOPE}.${index}`];
  return { resource, scopes: [scope], introspection_clients: ['bench'] };
}

const secretOf = (index: number) => `${SECRET}-${index}`;
export const basicOf = (index: number): string => `Basic ${btoa(`service-${index}:${secretOf(index)}`)}`;

/** Each with a secret of its own, as real ones have. */
function clientOf(index: number) {
  return {
    client_id: `service-${index}`,
    client_secrets: [{ hash: `sha256:${createHash('sha256').update(secretOf(index)).digest('hex')}` }],
    grant_types: ['client_credentials'],
    scope: SCOPE,
  };
}

/** All with one password and one hash of it: making a thousand takes a while. */
async function people(count: number) {
  const password_hash = await hash(PASSWORD, FULL_HASH);
  return Array.from({ length: count }, (_, index) => ({
    id: personId(index),
    username: personName(index),
    password_hash,
    ...claimsOf(index),
  }));
}
