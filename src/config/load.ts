// Reads the configuration file and everything it names, and gives either the whole configuration or every problem at once.
import { resolve } from 'node:path';
import * as z from 'zod';
import { readKeys } from '../features/index.ts';
import { checkAccess, type Parts } from './check-access.ts';
import { checkClients } from './check-clients.ts';
import { checkResources } from './check-resources.ts';
import { checkService } from './check-service.ts';
import { checkUsers } from './check-users.ts';
import { resolveClientSecrets } from './client-secrets.ts';
import { type Client, type Config, ConfigError, type ConfigSources, userScopes } from './config.ts';
import { readDocument } from './document.ts';
import { dataFolder, generateKeys, KEY_NAMES, type KeyName, resolveKeys } from './service-keys.ts';
import { hashConfig } from './hash.ts';
import { entriesOf, readListings, type SourceList } from './included-files.ts';
import { isRecord, parse } from './parse-fields.ts';
import { ProblemList, type Report } from './problems.ts';
import { withoutRemoved } from './removed-keys.ts';
import { toClient, toConfig } from './resolve.ts';
import { clientSchema, resourceSchema } from './schema-client.ts';
import { userSchema } from './schema-user.ts';
import { configSchema } from './schema.ts';
import { readSecret, type SecretContext, type SecretFiles } from './secret-reference.ts';
import { digestOf } from './secret-strength.ts';
import { levelsOf } from './sign-in-levels.ts';
import { resolveStore } from './store-location.ts';
import { isLoopbackUrl } from './uri.ts';

export type LoadOptions = Readonly<{
  env?: NodeJS.ProcessEnv;
  /** false leaves the disk alone: keys that would be generated are only made up. */
  writeKeys?: boolean;
  /** false where the secrets aren't, as in CI: references aren't followed. The result is good for looking at only. */
  readSecrets?: boolean;
  /** true for commands of an emergency: no clients and APIs, and of all else but the issuer, the store and the keys what has no fault. */
  serviceOnly?: boolean;
  /** Instead of what the file says, for a caller that judges the modes of secret files itself. */
  secretFiles?: SecretFiles;
}>;

/** A configuration, and what to know about where it came from. */
export type LoadedConfig = Readonly<{
  config: Config;
  sources: ConfigSources;
  /** The same on every node that runs the same configuration, and reveals nothing of it. */
  hash: string;
  /** Keys that weren't configured: they are this installation's own. */
  generatedKeys: readonly KeyName[];
  /** When reading began, in epoch milliseconds. */
  readAt: number;
}>;

/** What two workers reload in 512 MiB, which is what deploy/ gives them. */
const MOST_USERS = 16_000;

const ANY_MODE = 'secret_files is any_mode: permissions of files with keys and secrets are not checked.';

/** What names clients and APIs. */
const OF_CLIENTS = ['clients', 'clients_from', 'resources'];
/** What no command can do without. */
const NEEDED = ['issuer', 'store', 'encryption_keys', 'cookie_keys', 'signing_keys', 'secret_files'];

const serviceSchema = configSchema.extend({
  clients: z.array(z.unknown()).optional(),
  resources: z.array(z.unknown()).optional(),
});

/** The configuration in `file`. Throws ConfigError with every problem of all its files. */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<Config> {
  return (await loadConfigWithSources(file, options)).config;
}

/** The same, with what a watcher and a comparison need. The ConfigError it throws knows its sources too. */
export async function loadConfigWithSources(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { env, writeKeys = true, readSecrets, serviceOnly } = options;
  const readAt = Date.now();
  const sources: SourceList = { files: [resolve(file)], patterns: [] };
  const problems = new ProblemList();
  const refusal = () => new ConfigError(problems.list(), sources);
  const parts = await readParts(file, { problems, sources, serviceOnly });
  if (!parts) throw refusal();
  const { service } = parts;
  const issuerIsLoopback = isLoopbackUrl(service.value.issuer);
  checkParts(parts, issuerIsLoopback, problems.notices);
  const noteFile = (secret: string): void => void sources.files.push(secret);
  const secretFiles = options.secretFiles ?? service.value.secret_files;
  const context = { env, noteFile, readSecrets, secretFiles, issuerIsLoopback };
  const { store, keys: configured, clients, read } = await resolveSecrets(parts, context);
  if (!problems.isEmpty || !store) throw refusal();
  const generatedKeys = KEY_NAMES.filter((name) => configured[name].length === 0);
  // Only now, so that a refused file changes nothing.
  const target = { folder: dataFolder(store, service.folder), write: writeKeys, secretFiles };
  const generated = await generateKeys(generatedKeys, target).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    service.report(['store'], `keys could not be generated in ${target.folder}: ${reason}`);
    throw refusal();
  });
  const keys = { ...configured, ...generated.keys };
  const notices = [
    ...problems.notices,
    ...generated.notices,
    ...(secretFiles === 'any_mode' ? [ANY_MODE] : []),
  ];
  const config = toConfig(parts, { store, keys, clients, read, notices });
  return { config, sources, hash: hashConfig(config), generatedKeys, readAt };
}

type Reading = Readonly<{
  problems: ProblemList;
  sources: SourceList;
  serviceOnly: boolean | undefined;
}>;

/** Undefined after a fault of the file itself, which all the rest depends on. */
async function readParts(
  file: string,
  { problems, sources, serviceOnly = false }: Reading,
): Promise<Parts | undefined> {
  const document = await readDocument(file, problems);
  if (!document) return undefined;
  const whole = withoutRemoved(document, problems.notices);
  const reportAny = problems.reporter(document);
  const report: Report = (path, ...problem) => {
    if (!serviceOnly || NEEDED.includes(String(path[0]))) reportAny(path, ...problem);
  };
  const content = serviceOnly && isRecord(whole) ? withoutFaults(whole) : (whole ?? {});
  const value = parse(serviceSchema, content, report);
  // The objects are looked at also in a file with other faults.
  const lists = isRecord(content) ? content : {};
  const heard = serviceOnly ? new ProblemList() : problems;
  const clients = [
    { document, path: ['clients'], items: listIn(lists['clients']) },
    ...(await readListings(document, ['clients', listIn(lists['clients_from'])], { problems, sources })),
  ];
  const resources = [{ document, path: ['resources'], items: listIn(lists['resources']) }];
  const users = await readListings(document, ['users', [lists['users_from']]], { problems: heard, sources });
  const entries = {
    clients: entriesOf(clientSchema, clients, problems),
    resources: entriesOf(resourceSchema, resources, problems),
    users: entriesOf(userSchema, users, heard),
  };
  if (!value) return undefined;
  return { service: { value, report, place: () => `${file}:1`, folder: document.folder }, ...entries };
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function withoutFaults(content: Readonly<Record<string, unknown>>) {
  const schemas = new Map<string, z.ZodType>(Object.entries(serviceSchema.shape));
  const isKept = ([key, value]: [string, unknown]) =>
    NEEDED.includes(key) || (!OF_CLIENTS.includes(key) && schemas.get(key)?.safeParse(value).success);
  return Object.fromEntries(Object.entries(content).filter(isKept));
}

function checkParts(
  { service, clients, resources, users }: Parts,
  issuerIsLoopback: boolean,
  notices: string[],
): void {
  const { features, issuer, sign_in: signIn } = service.value;
  const owners = new Map(
    resources.list.flatMap((entry) => entry.value.scopes.map((scope) => [scope, entry])),
  );
  const apiOf = (scope: string): unknown => owners.get(scope) ?? (resources.isWhole ? undefined : scope);
  const context = {
    issuerIsLoopback,
    features,
    offered: levelsOf({ signIn })?.offered ?? ['password'],
    algorithms: service.value.signing_keys.algorithms,
    apiOf,
    userScopes: userScopes(service.value),
  };
  checkService(service, resources.list, context);
  checkClients(clients.list, context);
  checkResources(resources.list, { issuer, clients, userScopes: context.userScopes });
  checkUsers(users.list, { issuerIsLoopback, passkeys: signIn?.passkeys === true }, notices);
  checkAccess({ service, clients, resources, users });
  const { length } = users.list;
  if (length > MOST_USERS)
    notices.push(`users_from has ${length} users: more than 16,000 need more than 512 MiB of memory`);
}

async function resolveSecrets({ service, clients }: Parts, context: SecretContext) {
  const store = await resolveStore(service, context);
  const keys = {
    encryption_keys: await resolveKeys(service, 'encryption_keys', context),
    cookie_keys: await resolveKeys(service, 'cookie_keys', context),
  };
  const ofService = Object.values(keys).flat().map(digestOf);
  const resolved: Client[] = [];
  for (const entry of clients.list)
    resolved.push(toClient(entry.value, await resolveClientSecrets(entry, context, ofService)));
  return { store, keys, clients: resolved, read: await readOfFeatures(service, context) };
}

/** What the keys of features refer to. */
function readOfFeatures(service: Parts['service'], context: SecretContext) {
  const open = { ...context, secretFiles: 'any_mode', issuerIsLoopback: true } as const;
  return readKeys(service.value, {
    folder: service.folder,
    secret: (...place) => readSecret(service, place, context),
    open: (...place) => readSecret(service, place, open),
  });
}
