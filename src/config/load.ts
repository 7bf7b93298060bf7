// Reads the configuration file and everything it names, and gives either the whole configuration or every problem at once.
import { resolve } from 'node:path';
import * as z from 'zod';
import { checkAccess, claimedPersonScopes, type Entries } from './check-access.ts';
import { checkClients, foreignScopesFault } from './check-clients.ts';
import { checkResources, ownersOf } from './check-resources.ts';
import { checkService } from './check-service.ts';
import { checkUsers } from './check-users.ts';
import { resolveClientSecrets } from './client-secrets.ts';
import { type ClientSecret, type Config, ConfigError, type ConfigSources } from './config.ts';
import { readDocument, type SourceDocument } from './document.ts';
import { dataFolder, generateKeys, KEY_NAMES, type KeyName, resolveKeys } from './service-keys.ts';
import { hashConfig } from './hash.ts';
import {
  entriesOf,
  findFiles,
  type Listing,
  readListing,
  type SourceList,
  toEntries,
} from './included-files.ts';
import { isRecord, parseFields } from './parse-fields.ts';
import { type Path, ProblemList, type Report } from './problems.ts';
import { type Sources, toConfig } from './resolve.ts';
import { Unreadable } from './regular-file.ts';
import { withoutRetired } from './retired-keys.ts';
import type { Entry } from './rules.ts';
import { type ClientForm, clientSchema, resourceSchema } from './schema-client.ts';
import { userSchema } from './schema-user.ts';
import { configSchema, type ServiceForm } from './schema.ts';
import type { ReferenceSource, SecretFiles } from './secret-reference.ts';
import { ALGORITHMS } from './signing-algorithms.ts';
import { LEVELS, levelsOf } from './sign-in-levels.ts';
import { resolveStore } from './store-location.ts';
import { isLoopbackUrl } from './uri.ts';

/** A rule of another folder, run when everything else is valid. */
export type ConfigCheck = (config: Config) => readonly { readonly path: Path; readonly message: string }[];

export type LoadOptions = {
  readonly env?: NodeJS.ProcessEnv;
  /** Epoch seconds. */
  readonly now?: number;
  readonly checks?: readonly ConfigCheck[];
  /** false leaves the disk alone: keys that would be generated are only made up. */
  readonly writeKeys?: boolean;
  /** false where the secrets aren't, as in CI: references aren't followed. The result is good for looking at only. */
  readonly readSecrets?: boolean;
  /** true for commands of an emergency: no clients and APIs, and of all else but the issuer, the store and the keys what has no fault. */
  readonly serviceOnly?: boolean;
  /** Instead of what the file says, for a caller that judges the modes of secret files itself. */
  readonly secretFiles?: SecretFiles;
};

/** A configuration, and what to know about where it came from. */
export type LoadedConfig = {
  readonly config: Config;
  readonly sources: ConfigSources;
  /** The same on every node that runs the same configuration, and reveals nothing of it. */
  readonly hash: string;
  /** Keys that weren't configured: they are this installation's own. */
  readonly generatedKeys: readonly KeyName[];
  /** When reading began, in epoch milliseconds. */
  readonly readAt: number;
};

// Secret files that are read at the same time: enough to keep the disk busy, few enough for any limit on open files.
const CLIENTS_AT_ONCE = 64;

const ANY_MODE = 'secret_files is any_mode: the permissions of files with keys and secrets are not checked.';

/** What names clients and APIs. */
const OF_CLIENTS = ['clients', 'clients_from', 'resources', 'client_documents'];
/** What no command can do without. */
const NEEDED = ['issuer', 'store', 'encryption_keys', 'cookie_keys', 'signing_keys', 'secret_files'];

// Lists are taken apart first, so that one bad client doesn't hide the others.
const topSchema = configSchema.extend({
  clients: z.array(z.unknown()).default([]),
  resources: z.array(z.unknown()).default([]),
});

/** The configuration in `file`. Throws ConfigError with every problem of all its files. */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<Config> {
  return (await loadConfigWithSources(file, options)).config;
}

/** The same, with what a watcher and a comparison need. The ConfigError it throws knows its sources too. */
export async function loadConfigWithSources(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const sources: SourceList = { files: new Set(), patterns: new Set(), matched: new Map() };
  const list = () => ({ ...sources, files: [...sources.files], patterns: [...sources.patterns] });
  const readAt = Date.now();
  try {
    const loaded = await load(file, options, sources);
    return { ...loaded, hash: hashConfig(loaded.config), sources: list(), readAt };
  } catch (error) {
    if (error instanceof Unreadable) throw new ConfigError([{ file, message: error.message }], list());
    throw error instanceof ConfigError ? new ConfigError(error.problems, list()) : error;
  }
}

async function load(
  file: string,
  options: LoadOptions,
  sources: SourceList,
): Promise<Pick<LoadedConfig, 'config' | 'generatedKeys'>> {
  const { env = process.env, checks = [], writeKeys = true, readSecrets } = options;
  const problems = new ProblemList();
  sources.files.add(resolve(file));
  const document = await readDocument(file, problems);
  if (document === undefined) throw new ConfigError(problems.list());
  const parts = await readParts(document, problems, sources, options.serviceOnly);
  checkParts(parts);
  const noteFile = (secret: string): void => void sources.files.add(secret);
  const secretFiles = options.secretFiles ?? parts.service.value.secret_files ?? 'private';
  const { store, ...secrets } = await resolveSecrets(parts, { env, noteFile, readSecrets, secretFiles });
  if (!problems.isEmpty || store === undefined) throw new ConfigError(problems.list());
  const generatedKeys = KEY_NAMES.filter((name) => secrets.keys[name].length === 0);
  // Only now, so that a refused file changes nothing.
  const report = problems.reporter(document);
  const target = { folder: dataFolder(store, document.folder), write: writeKeys, secretFiles };
  const generated = await generateKeys(generatedKeys, target).catch((error: unknown) => {
    report(['store'], `keys could not be generated in ${target.folder}: ${generationFault(error)}`);
    throw new ConfigError(problems.list());
  });
  const keys = { ...secrets.keys, ...generated.keys };
  const notices = [...parts.notices, ...generated.notices, ...(secretFiles === 'any_mode' ? [ANY_MODE] : [])];
  const config = toConfig({ ...parts, ...secrets, store, keys, notices });
  for (const { path, message } of checks.flatMap((check) => check(config))) report(path, message);
  if (!problems.isEmpty) throw new ConfigError(problems.list());
  return { config, generatedKeys };
}

function generationFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('code' in error)) return error.message;
  return ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))
    ? 'this user may not write there. Change its owner, or name another folder in store'
    : `it can't be written (${String(error.code)})`;
}

type Parts = Entries & {
  /** Whether no file with clients was unreadable. */
  readonly clientsAreKnown: boolean;
  readonly issuerIsLoopback: boolean;
  readonly notices: readonly string[];
};

async function readParts(
  document: SourceDocument,
  problems: ProblemList,
  sources: SourceList,
  serviceOnly = false,
): Promise<Parts> {
  const { file, folder } = document;
  const reportAny = problems.reporter(document);
  const report: Report = (path, ...problem) => {
    if (!serviceOnly || NEEDED.includes(String(path[0]))) reportAny(path, ...problem);
  };
  const { content: whole, notices } = withoutRetired(document);
  const content = serviceOnly && isRecord(whole) ? withoutFaults(whole) : whole;
  const { value, broken } = parseFields(topSchema, content ?? {}, report);
  const listing = (key: 'clients' | 'resources'): Listing => ({
    document,
    path: [key],
    items: value[key] ?? [],
  });
  const clientFiles = await findFiles(value.clients_from ?? [], file, sources);
  const listings: (Listing | undefined)[] = [listing('clients')];
  for (const [name, index] of clientFiles) {
    const at = (message: string): void => report(['clients_from', index], message);
    listings.push(await readListing(name, 'clients', problems, at));
  }
  const { clients: _clients, resources: _resources, ...fields } = value;
  return {
    service: { value: fields, broken, node: content, report, place: `${file}:1`, folder },
    clients: entriesOf(clientSchema, listings, { problems, labelKey: 'client_id' }),
    resources: toEntries(resourceSchema, listing('resources'), { problems }),
    users: await readUsers(document, value.users_from, { problems, sources, serviceOnly }),
    clientsAreKnown: !listings.includes(undefined) && !broken.has('clients') && !broken.has('clients_from'),
    issuerIsLoopback: looksLoopback(isRecord(content) ? content['issuer'] : undefined),
    notices,
  };
}

function withoutFaults(content: Readonly<Record<string, unknown>>) {
  const { broken } = parseFields(topSchema, content, () => undefined);
  const isKept = (key: string) => NEEDED.includes(key) || !(broken.has(key) || OF_CLIENTS.includes(key));
  return Object.fromEntries(Object.entries(content).filter(([key]) => isKept(key)));
}

type UsersParts = {
  readonly problems: ProblemList;
  readonly sources: SourceList;
  readonly serviceOnly: boolean;
};

async function readUsers(
  document: SourceDocument,
  usersFrom: string | undefined,
  { problems, sources, serviceOnly }: UsersParts,
): Promise<Parts['users']> {
  const heard = serviceOnly ? new ProblemList() : problems;
  const patterns = usersFrom === undefined ? [] : [usersFrom];
  const [file] = (await findFiles(patterns, document.file, sources)).keys();
  const at = (message: string): void => heard.reporter(document)(['users_from'], message);
  const people = file === undefined ? undefined : await readListing(file, 'users', heard, at);
  const all = entriesOf(userSchema, [people], { problems: heard, labelKey: 'username' });
  return serviceOnly ? all.filter(({ broken }) => broken.size === 0) : all;
}

/** Also of an issuer with faults; where it isn't known, nothing is refused that depends on it. */
function looksLoopback(issuer: unknown): boolean {
  return typeof issuer !== 'string' || !URL.canParse(issuer) || isLoopbackUrl(issuer);
}

/** Where the file has faults in its features. */
const ALL_FEATURES = {
  clientCredentials: true,
  deviceFlow: true,
  pkce: 'per_client',
  responseModes: ['form_post'],
} as const;

function checkParts({ service, clients, resources, users, clientsAreKnown, issuerIsLoopback }: Parts): void {
  checkService(service);
  const { features, issuer, sign_in: signIn, signing_keys: signingKeys } = service.value;
  // Where it wasn't understood, nothing is refused that depends on it.
  const signInIsKnown = !service.broken.has('sign_in');
  const owners = ownersOf(resources);
  const personScopes = claimedPersonScopes(service);
  const apiOf = (scope: string) => owners.get(scope);
  checkClients(clients, {
    issuerIsLoopback,
    ...(features ?? ALL_FEATURES),
    offered: signInIsKnown ? (levelsOf({ signIn, acr: undefined })?.offered ?? ['password']) : LEVELS,
    algorithms: signingKeys?.algorithms ?? ALGORITHMS,
    apiOf,
    personScopes,
  });
  checkDocumentScope(service, { apiOf, personScopes });
  checkResources(resources, { issuer, clients, clientsAreKnown, personScopes });
  checkUsers(users, { issuerIsLoopback, passkeys: !signInIsKnown || signIn?.passkeys === true });
  checkAccess({ service, clients, resources, users });
}

function checkDocumentScope(
  { value, report }: Entry<ServiceForm>,
  owners: Parameters<typeof foreignScopesFault>[1],
): void {
  const scope = value.client_documents?.scope;
  if (scope === undefined) return;
  const fault = scope.length === 0 ? 'must name at least one scope' : foreignScopesFault(scope, owners);
  if (fault !== undefined) report(['client_documents', 'scope'], fault);
}

type Secrets = Pick<Sources, 'clientSecrets' | 'keys'> & {
  readonly store: Sources['store'] | undefined;
};

async function resolveSecrets(parts: Parts, source: ReferenceSource): Promise<Secrets> {
  const { service, issuerIsLoopback } = parts;
  const context = { ...source, issuerIsLoopback };
  const clientSecrets = new Map<Entry<ClientForm>, readonly ClientSecret[]>();
  for (const some of chunks(parts.clients, CLIENTS_AT_ONCE)) {
    const found = await Promise.all(some.map((client) => resolveClientSecrets(client, context)));
    for (const [index, client] of some.entries()) clientSecrets.set(client, found[index] ?? []);
  }
  return {
    store: await resolveStore(service, context),
    keys: {
      encryption_keys: await resolveKeys(service, 'encryption_keys', context),
      cookie_keys: await resolveKeys(service, 'cookie_keys', context),
    },
    clientSecrets,
  };
}

function* chunks<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < list.length; start += size) yield list.slice(start, start + size);
}
