// Reads the configuration file and all files that it names, and returns either the whole configuration or every problem at once.
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
import { readEntries, type SourceList } from './included-files.ts';
import { isRecord, parse } from './parse-fields.ts';
import { type ConfigProblem, orReport, ProblemList } from './problems.ts';
import { withoutRemoved } from './removed-keys.ts';
import { toClient, toConfig } from './resolve.ts';
import { clientSchema, resourceSchema } from './schema-client.ts';
import { userSchema } from './schema-user.ts';
import { configSchema } from './schema.ts';
import { readSecret, type SecretContext } from './secret-reference.ts';
import { digestOf } from './secret-strength.ts';
import { levelsOf } from './sign-in-levels.ts';
import { resolveStore } from './store-location.ts';
import { isLoopbackUrl } from './uri.ts';

export type LoadOptions = Readonly<{
  env?: NodeJS.ProcessEnv;
  /** false writes nothing to disk: generated keys exist only in memory. */
  writeKeys?: boolean;
  /** false where secrets aren't available, as in CI: references aren't read, and no service can run with the result. */
  readSecrets?: boolean;
  /** true for emergency commands: ignores clients and APIs, and faulty settings other than NEEDED. */
  serviceOnly?: boolean;
}>;

export type LoadedConfig = Readonly<{
  config: Config;
  sources: ConfigSources;
  /** Equal on all nodes that run the same configuration. Reveals nothing about it. */
  hash: string;
  /** Keys that aren't configured, but were generated for this installation. */
  generatedKeys: readonly KeyName[];
  /** When reading began, in epoch milliseconds. */
  readAt: number;
}>;

/** The most users that two workers can reload in 512 MiB, the limit in deploy/. */
const MOST_USERS = 16_000;

const ANY_MODE = 'secret_files is any_mode: permissions of files with keys and secrets are not checked.';

const OF_CLIENTS = ['clients', 'clients_from', 'resources'];
/** Keys that every command needs. */
const NEEDED = ['issuer', 'store', 'encryption_keys', 'cookie_keys', 'signing_keys', 'secret_files'];

const serviceSchema = configSchema.extend({
  clients: z.array(z.unknown()).optional(),
  resources: z.array(z.unknown()).optional(),
});

/** Throws ConfigError with every problem of all files. */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<Config> {
  return (await loadConfigWithSources(file, options)).config;
}

/** Throws ConfigError, which has the sources, too. */
export async function loadConfigWithSources(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { env, writeKeys = true, readSecrets, serviceOnly } = options;
  const readAt = Date.now();
  const sources: SourceList = { files: [resolve(file)], patterns: [] };
  const problems = new ProblemList();
  const refusal = () => new ConfigError(problems.list(), sources);
  const parts = await readParts(file, problems, sources, serviceOnly);
  if (!parts) throw refusal();
  const { service } = parts;
  const issuerIsLoopback = isLoopbackUrl(service.value.issuer);
  checkParts(parts, issuerIsLoopback, problems.notices);
  const noteFile = (secret: string): void => void sources.files.push(secret);
  const { secret_files: secretFiles } = service.value;
  const context = { env, noteFile, readSecrets, secretFiles, issuerIsLoopback };
  const { store, keys: configured, clients, read } = await resolveSecrets(parts, context);
  const stopsLoad = ({ file: of, path = '' }: ConfigProblem) =>
    !serviceOnly || (of === file && NEEDED.includes(path.replace(/[.[].*/, '')));
  if (!store || problems.list().some(stopsLoad)) throw refusal();
  const generatedKeys = KEY_NAMES.filter((name) => configured[name].length === 0);
  // Generated last, so that a rejected file changes nothing.
  const target = { folder: dataFolder(store, service.folder), write: writeKeys, secretFiles };
  const generated = await generateKeys(generatedKeys, target).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    service.report(['store'], `keys could not be generated in ${target.folder}: ${reason}`);
    throw refusal();
  });
  const keys = { ...configured, ...generated.keys };
  const notices = [...problems.notices, ...generated.notices];
  const config = toConfig(parts, { store, keys, clients, read, notices });
  return { config, sources, hash: hashConfig(config), generatedKeys, readAt };
}

/** Resolves undefined if the file itself has a fault, because all checks depend on it. */
async function readParts(file: string, problems: ProblemList, sources: SourceList, serviceOnly = false) {
  const found = await readDocument(file, problems);
  if (!found) return undefined;
  const whole = withoutRemoved(found, problems.notices) ?? {};
  const document = { ...found, content: serviceOnly && isRecord(whole) ? withoutFaults(whole) : whole };
  const report = problems.reporter(document);
  const value = parse(serviceSchema, document.content, report);
  // Lists are checked even if the file has other faults.
  const isKnown = ([key]: [string, unknown]) => Object.hasOwn(serviceSchema.shape, key);
  const content = Object.fromEntries(Object.entries(Object(document.content)).filter(isKnown));
  const context = { document: { ...document, content }, problems, sources };
  const entries = {
    clients: await readEntries('clients', clientSchema, context),
    resources: await readEntries('resources', resourceSchema, context),
    users: await readEntries('users', userSchema, context),
  };
  return (
    value && { service: { value, report, place: () => `${file}:1`, folder: document.folder }, ...entries }
  );
}

function withoutFaults(content: Readonly<Record<string, unknown>>) {
  const schemas = new Map<string, z.ZodType>(Object.entries(serviceSchema.shape));
  const isKept = ([key, value]: [string, unknown]) =>
    NEEDED.includes(key) || (!OF_CLIENTS.includes(key) && schemas.get(key)?.safeParse(value).success);
  return Object.fromEntries(Object.entries(content).filter(isKept));
}

function checkParts(parts: Parts, issuerIsLoopback: boolean, notices: string[]): void {
  const { service, clients, resources, users } = parts;
  const { features, sign_in: signIn } = service.value;
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
  checkService(parts, context);
  checkClients(clients.list, context);
  checkResources(parts, context.userScopes);
  checkUsers(parts, context, notices);
  checkAccess(parts);
  if (service.value.secret_files === 'any_mode') notices.push(ANY_MODE);
  const { length } = users.list;
  if (length > MOST_USERS)
    notices.push(`users_from has ${length} users: more than 16,000 need more than 512 MiB of memory`);
}

async function resolveSecrets({ service, clients }: Parts, context: SecretContext) {
  const store = await orReport(resolveStore(service, context), (message) =>
    service.report(['store'], message),
  );
  const encryptionKeys = await resolveKeys(service, 'encryption_keys', context);
  const cookieKeys = await resolveKeys(service, 'cookie_keys', context, encryptionKeys);
  const keys = { encryption_keys: encryptionKeys, cookie_keys: cookieKeys };
  const ofService = Object.values(keys).flat().map(digestOf);
  const resolved: Client[] = [];
  for (const entry of clients.list)
    resolved.push(toClient(entry.value, await resolveClientSecrets(entry, context, ofService)));
  return { store, keys, clients: resolved, read: await readOfFeatures(service, context) };
}

/** Reads the values that the keys of features refer to. */
function readOfFeatures(service: Parts['service'], context: SecretContext) {
  const open = { ...context, secretFiles: 'any_mode', issuerIsLoopback: true } as const;
  return readKeys(service.value, {
    folder: service.folder,
    secret: (...place) => readSecret(service, place, context),
    open: (...place) => readSecret(service, place, open),
  });
}
