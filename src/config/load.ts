// Reads the configuration file and everything it names, and gives either the whole resolved configuration or every
// problem at once. Owns the order of the work; each kind of rule has its own file.
import * as z from 'zod';
import { checkClients } from './check-clients.ts';
import { checkResources, scopesOf } from './check-resources.ts';
import { checkService } from './check-service.ts';
import { checkUsers } from './check-users.ts';
import { resolveClientSecrets } from './client-secrets.ts';
import { ConfigError, type ClientSecret, type Config } from './config.ts';
import { DEMO_PASSWORD_HASH } from './demo.ts';
import { readDocument, readFault, type SourceDocument } from './document.ts';
import { findFiles, readListing, toEntries, type Listing } from './included-files.ts';
import { isRecord, parseFields } from './parse-fields.ts';
import { ProblemList, type Path } from './problems.ts';
import { toConfig, type Sources } from './resolve.ts';
import { understood, type Entry } from './rules.ts';
import { clientSchema, resourceSchema, type ClientForm, type ResourceForm } from './schema-client.ts';
import { userSchema, type UserForm } from './schema-user.ts';
import { configSchema, type ServiceForm } from './schema.ts';
import { dataFolder, generateKeys, resolveKeys } from './service-keys.ts';
import { resolveStore } from './store-location.ts';
import { isLoopbackUrl, normalizeIssuer } from './uri.ts';

/** A rule that another folder owns, run when everything else is in order. */
export type ConfigCheck = (config: Config) => readonly { readonly path: Path; readonly message: string }[];

export type LoadOptions = {
  readonly env?: NodeJS.ProcessEnv;
  /** Epoch seconds. */
  readonly now?: number;
  readonly checks?: readonly ConfigCheck[];
  /** false leaves the disk alone: keys that would be generated are only made up. */
  readonly writeKeys?: boolean;
};

// Lists are taken apart first, so that one bad client doesn't hide the others.
const topSchema = configSchema.extend({
  clients: z.array(z.unknown()).default([]),
  resources: z.array(z.unknown()).default([]),
});

/** The configuration in `file`. Throws ConfigError with every problem of all its files. */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<Config> {
  const { env = process.env, now = Math.floor(Date.now() / 1000), checks = [], writeKeys = true } = options;
  const problems = new ProblemList();
  const document = await readDocument(file, problems);
  if (document === undefined) throw new ConfigError(problems.list());
  const parts = await readParts(document, problems);
  checkParts(parts);
  const secrets = await resolveSecrets(parts, env, now);
  if (!problems.isEmpty || secrets.store === undefined) throw new ConfigError(problems.list());
  const keys = await fillKeys({ ...secrets, store: secrets.store }, { document, problems, writeKeys });
  const config = toConfig({ ...parts, ...keys });
  const report = problems.reporter(document);
  for (const { path, message } of checks.flatMap((check) => check(config))) report(path, message);
  if (!problems.isEmpty) throw new ConfigError(problems.list());
  return config;
}

type Parts = {
  readonly service: Entry<ServiceForm>;
  readonly clients: readonly Entry<ClientForm>[];
  readonly resources: readonly Entry<ResourceForm>[];
  readonly users: readonly Entry<UserForm>[];
  /** Whether no file with clients was unreadable. */
  readonly clientsAreKnown: boolean;
  readonly issuer: string | undefined;
  readonly issuerIsLoopback: boolean;
};

async function readParts(document: SourceDocument, problems: ProblemList): Promise<Parts> {
  const { file, folder, content } = document;
  const report = problems.reporter(document);
  const { value, broken } = parseFields(topSchema, content ?? {}, [], report);
  const listing = (key: 'clients' | 'resources'): Listing => ({
    document,
    path: [key],
    items: value[key] ?? [],
  });
  const clientFiles = await findFiles(value.clients_from ?? [], file);
  const listings: (Listing | undefined)[] = [listing('clients')];
  for (const name of clientFiles) listings.push(await readListing(name, 'clients', problems));
  const [usersFile] = value.users_from === undefined ? [] : await findFiles([value.users_from], file);
  const people = usersFile === undefined ? undefined : await readListing(usersFile, 'users', problems);
  const { clients: _clients, resources: _resources, ...fields } = value;
  const issuer = value.issuer === undefined ? undefined : normalizeIssuer(value.issuer);
  return {
    service: { value: fields, broken, node: content, path: [], report, place: `${file}:1`, folder },
    clients: listings
      .filter((found) => found !== undefined)
      .flatMap((found) => toEntries(clientSchema, found, { problems, labelKey: 'client_id' })),
    resources: toEntries(resourceSchema, listing('resources'), { problems }),
    users: people === undefined ? [] : toEntries(userSchema, people, { problems, labelKey: 'username' }),
    clientsAreKnown: !listings.includes(undefined) && !broken.has('clients') && !broken.has('clients_from'),
    issuer,
    issuerIsLoopback: looksLoopback(isRecord(content) ? content['issuer'] : undefined),
  };
}

/** Also of an issuer with faults; when it can't be told, nothing is refused that depends on it. */
function looksLoopback(issuer: unknown): boolean {
  return typeof issuer !== 'string' || !URL.canParse(issuer) || isLoopbackUrl(issuer);
}

function checkParts({ service, clients, resources, users, ...rest }: Parts): void {
  checkService(service);
  const features = understood(service, ['features'])?.features;
  checkClients(clients, {
    issuerIsLoopback: rest.issuerIsLoopback,
    clientCredentials: features?.client_credentials ?? true,
    pkcePerClient: features === undefined || features.pkce === 'per_client',
    resourceScopes: scopesOf(resources),
  });
  checkResources(resources, { issuer: rest.issuer, clients, clientsAreKnown: rest.clientsAreKnown });
  checkUsers(users);
  if (rest.issuerIsLoopback) return;
  for (const user of users.filter(({ value }) => value.password_hash === DEMO_PASSWORD_HASH)) {
    const message = 'has the demo password that everybody knows: it is only for an issuer on this machine';
    user.report([...user.path, 'password_hash'], message);
  }
}

type Secrets = Pick<Sources, 'clientSecrets' | 'encryptionKeys' | 'cookieKeys'> & {
  readonly store: Sources['store'] | undefined;
};

async function resolveSecrets(parts: Parts, env: NodeJS.ProcessEnv, now: number): Promise<Secrets> {
  const { service, issuerIsLoopback } = parts;
  const context = { env, issuerIsLoopback, now };
  const clientSecrets = new Map<Entry<ClientForm>, readonly ClientSecret[]>();
  for (const client of parts.clients) clientSecrets.set(client, await resolveClientSecrets(client, context));
  return {
    store: await resolveStore(service, context),
    encryptionKeys: await resolveKeys(service, 'encryption_keys', context),
    cookieKeys: await resolveKeys(service, 'cookie_keys', context),
    clientSecrets,
  };
}

type Surroundings = {
  readonly document: SourceDocument;
  readonly problems: ProblemList;
  readonly writeKeys: boolean;
};

/** Generates the keys that a loopback issuer left out. The last step, so that a refused file changes nothing. */
async function fillKeys(
  secrets: Omit<Sources, keyof Parts | 'notices'>,
  { document, problems, writeKeys }: Surroundings,
): Promise<Omit<Sources, keyof Parts>> {
  const target = { folder: dataFolder(secrets.store, document.folder), write: writeKeys };
  const none = { keys: [], notices: [] };
  try {
    const encryption =
      secrets.encryptionKeys.length > 0 ? none : await generateKeys('encryption_keys', target);
    const cookie = secrets.cookieKeys.length > 0 ? none : await generateKeys('cookie_keys', target);
    return {
      ...secrets,
      encryptionKeys: [...secrets.encryptionKeys, ...encryption.keys],
      cookieKeys: [...secrets.cookieKeys, ...cookie.keys],
      notices: [...encryption.notices, ...cookie.notices],
    };
  } catch (error) {
    const reason = error instanceof Error && !('code' in error) ? error.message : readFault(error);
    problems.add({
      file: document.file,
      message: `keys could not be generated in ${target.folder}: ${reason}`,
    });
    throw new ConfigError(problems.list());
  }
}
