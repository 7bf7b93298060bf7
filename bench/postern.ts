// The service as a user runs it: the built command, with limits, CORS, headers, log, audit trail and metrics on. The limits
// are wide enough for one load generator; none is off.
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hash } from '@node-rs/argon2';
import { freePort } from '../test/world/servers.ts';
import { PASSWORD, personId, personName, REDIRECT_URI, RESOURCE, SCOPE, SECRET } from './names.ts';
import { serve, type Served } from './processes.ts';

export type PosternOptions = {
  readonly name: string;
  readonly store: string;
  /** Configuration, log and audit trail go into a folder of its own in here. */
  readonly folder: string;
  readonly workers?: number;
  /** Besides the two that measure. */
  readonly moreClients?: number;
  /** In the file; the store may have more. */
  readonly people?: number;
  /** Of another build; the one of this folder when not given. */
  readonly program?: string;
};

export type Postern = Served & {
  readonly name: string;
  readonly issuer: string;
  readonly management: string;
  readonly configFile: string;
  /** The file with the other clients. */
  readonly clientsFile: string;
};

/** What a password hash costs: OWASP's advice, which is the service's own. */
export const FULL_HASH = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Not beside the configuration, whose folder is watched. */
const LOGS = 'log';
const WIDE = '100000000/1m';
export const POSTERN_ENV = { BENCH_SECRET: SECRET };

/** Writes the files of a service; it isn't running yet. */
export async function configurePostern(options: PosternOptions): Promise<Omit<Postern, keyof Served>> {
  const [port, management] = [await freePort(), await freePort()];
  const folder = path.join(options.folder, options.name);
  await mkdir(path.join(folder, LOGS), { recursive: true });
  const issuer = `http://127.0.0.1:${port}`;
  const [configFile, clientsFile] = [path.join(folder, 'postern.json'), path.join(folder, 'clients.json')];
  await writeFile(clientsFile, JSON.stringify(otherClients(options.moreClients ?? 0)));
  await writeFile(path.join(folder, 'users.json'), JSON.stringify(await people(options)));
  await writeFile(
    configFile,
    JSON.stringify({
      issuer,
      listen: { host: '127.0.0.1', port },
      management: { host: '127.0.0.1', port: management },
      store: options.store,
      workers: options.workers ?? 1,
      audit: `file:${path.join(folder, LOGS, 'audit.jsonl')}`,
      cors: { allowed_origins: ['https://app.example'] },
      rate_limits: wideLimits(),
      resources: [{ resource: RESOURCE, scopes: [SCOPE], introspection_clients: ['bench'] }],
      clients_from: ['clients.json'],
      clients: clients(),
      users_from: 'users.json',
    }),
  );
  return {
    name: options.name,
    issuer,
    management: `http://127.0.0.1:${management}`,
    configFile,
    clientsFile,
  };
}

/** Resolves when the service says that it is up. */
export async function startPostern(options: PosternOptions): Promise<Postern> {
  const files = await configurePostern(options);
  return { ...files, ...(await runPostern(files, options.program)) };
}

export async function runPostern(
  { configFile }: Pick<Postern, 'configFile'>,
  program = 'dist/main.js',
): Promise<Served> {
  const logFile = path.join(path.dirname(configFile), LOGS, 'service.log');
  const args = [program, 'serve', '--config', configFile];
  return serve(args, 'Postern is up.', { env: POSTERN_ENV, logFile });
}

function wideLimits() {
  return {
    token: { client: WIDE, address: WIDE },
    introspection: { client: WIDE },
    revocation: { client: WIDE },
    userinfo: { address: WIDE },
    authorization: { address: WIDE },
    logout: { address: WIDE },
    // Attempts count until they were right, so a crowd behind one address would be told to wait.
    sign_in: { account_failures: WIDE, address_failures: WIDE },
  };
}

function clients() {
  return [
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
}

export const otherSecret = (index: number): string => `${SECRET}-${index}`;

/** Each with a secret of its own, as real ones have. */
export function otherClients(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    client_id: `service-${index}`,
    client_secrets: [{ hash: `sha256:${createHash('sha256').update(otherSecret(index)).digest('hex')}` }],
    grant_types: ['client_credentials'],
    scope: SCOPE,
  }));
}

/** In the file, all with one password and one hash of it: making a thousand takes a while. */
async function people({ people: count = 100 }: PosternOptions) {
  const passwordHash = await hash(PASSWORD, FULL_HASH);
  return Array.from({ length: count }, (_, index) => ({
    id: personId(index),
    username: personName(index),
    password_hash: passwordHash,
    ...claimsOf(index),
  }));
}

export const claimsOf = (index: number) => ({
  email: `${personName(index)}@example.com`,
  name: `Person ${index}`,
});
