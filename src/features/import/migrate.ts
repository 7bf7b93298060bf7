// `postern migrate`: converts another provider's configuration to ours in a new folder, and reports what changes.
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { ConfigError, SPECIFICATION_SCOPES } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { formatDuration } from '../../config/notation.ts';
import { formatProblem, ProblemList } from '../../config/problems.ts';
import { STANDARD_CLAIMS } from '../../config/schema-user.ts';
import { newKey } from '../../config/service-keys.ts';
import { digestOf, weakness } from '../../config/secret-strength.ts';
import { escaped } from '../../config/text.ts';
import { isLoopbackUrl } from '../../config/uri.ts';
import { createFolder } from '../../observability/folder.ts';
import { CommandError, counted } from '../../cli/io.ts';
import { newUserId } from '../../cli/user-context.ts';
import { type Fields, recordsOf, textOf, textsOf, unreadIn, valueAt } from './fields.ts';
import { type ClientDraft, POLICY_GROUP, type Provider, PROVIDERS } from './providers.ts';
import { readUsers, type UserDraft } from './users.ts';

type Name = keyof typeof PROVIDERS;
type Options = Readonly<{ out: string; issuer?: string }>;

/** Resolves the report. Throws ConfigError for input that can't be read, and CommandError; then nothing is written. */
export async function migrate(name: Name, file: string, { out, issuer }: Options): Promise<string> {
  const provider: Provider = PROVIDERS[name];
  const { clientsAt, toClient, issuerOf, groupsOf } = provider;
  const problems = new ProblemList();
  const { users, content } = await readUsers(name, file, problems);
  const drafts = recordsOf(valueAt(content, clientsAt)).flatMap((fields) => toClient(fields, content) ?? []);
  if (drafts.length + users.length === 0)
    problems.add({ file, message: `has no clients and users of ${name}` });
  if (!problems.isEmpty) throw new ConfigError(problems.list());
  const url = issuer ?? issuerOf(content);
  if (url === '') throw new CommandError(`${file} doesn't name the issuer: add --issuer https://…`);
  const there = await readdir(out).catch(() => []);
  if (there.length > 0) throw new CommandError(`nothing was written: ${out} is not empty`);

  const named = [
    ...(groupsOf?.(content) ?? []),
    ...drafts.flatMap(({ client }) => textsOf(valueAt(client, 'access/groups'))),
    ...users.flatMap(({ groups }) => groups ?? []),
  ];
  const groups = [...new Set(named)].filter((one) => !one.startsWith(POLICY_GROUP)).toSorted();
  const entries = users.filter(({ passwordHash }) => passwordHash !== undefined).map(toEntry);
  const input = { content, drafts, users };
  const service = {
    issuer: url,
    listen: { port: isLoopbackUrl(url) ? Number(new URL(url).port) : 3000 },
    store: 'lmdb:data',
    encryption_keys: ['file:secrets/encryption.key'],
    cookie_keys: ['file:secrets/cookie.key'],
    clients_from: ['clients.d/*.yaml'],
    users_from: 'users.yaml',
    groups: Object.fromEntries(groups.map((group) => [group, group])),
    ...settingsOf(name, content),
    ...(withFactorIn(provider, input) && {
      sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
    }),
  };
  const left = users.length - entries.length;
  const files = {
    'postern.yaml': toYaml(service),
    [`clients.d/${name}.yaml`]: toYaml(drafts.map((draft) => toForm(draft, groups.length > 0))),
    'users.yaml': toYaml(entries),
    'secrets/encryption.key': `${newKey()}\n`,
    'secrets/cookie.key': `${newKey()}\n`,
  };
  await writeAll(out, files);
  const report = {
    [`From ${name} to Postern`]: Object.keys(files),
    'The sub of every user changes': [
      'Apps that know users by sub take each for a new user. Before you switch, set them to match users by email address or username',
    ],
    'To fill in: postern check refuses the files until then': (await faultsOf(out)).concat(
      drafts.flatMap(neededBy),
    ),
    'What changes': changesOf(provider, input),
    Next: ['check', 'serve', left > 0 ? `user import ${file} --from ${name} --invite` : ''].map(
      (verb) => verb && `postern ${verb} --config ${join(out, 'postern.yaml')}`,
    ),
  };
  const parts = Object.entries(report).map(([title, lines]) => `## ${title}\n\n${toList(lines)}`);
  await writeAll(out, { 'REPORT.md': parts.join('\n') });
  return parts.join('\n');
}

type Input = Readonly<{ content: unknown; drafts: readonly ClientDraft[]; users: readonly UserDraft[] }>;

/** Who needs a new second factor. Empty: no user. */
const withFactorIn = ({ withFactors }: Provider, { content, drafts }: Input) =>
  withFactors?.(content).join(', ') ||
  (drafts.some(({ client }) => client['sign_in'] !== undefined) ? 'users' : '');

function changesOf(provider: Provider, input: Input): readonly string[] {
  const { content, drafts, users } = input;
  const { known } = provider;
  const left = users.filter(({ passwordHash }) => passwordHash === undefined).length;
  const withFactor = withFactorIn(provider, input);
  const attributes = new Set(users.flatMap(({ claims }) => Object.keys(claims)));
  const notes = provider.notesOf(content);
  // Comes last, because the lines above read from the content too.
  const unread = Map.groupBy(unreadIn(content, known), (at) => /^[^.]+\./.exec(at)?.[0]);
  return [
    ...drafts.flatMap((draft) => notesOfClient(draft, unreadIn(draft.fields, known))),
    left > 0
      ? `passwords: those of ${counted(left, 'user')} can't be taken over. Send each user a link, as below`
      : '',
    withFactor && `second factors: ${withFactor} need new ones. Send each a link of "postern user enrol"`,
    ...[...attributes]
      .filter((one) => !STANDARD_CLAIMS.includes(one))
      .map((one) => `attribute of users ${one}: left out`),
    ...notes,
    ...[...unread.values()].map((some) => `not carried over: ${some.join(', ')}`),
  ];
}

const toList = (lines: readonly string[]) =>
  lines
    .filter((line) => line !== '')
    .map((line) => `- ${escaped(line)}\n`)
    .join('') || 'Nothing.\n';

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    createFolder(dirname(join(folder, name)));
    await writeFile(join(folder, name), content, { flag: 'wx', mode: 0o600 });
  }
}

const idOf = ({ client }: ClientDraft) => textOf(client['client_id']);

function neededBy(draft: ClientDraft): readonly string[] {
  const [id, secret] = [idOf(draft), draft.isPublic ? 'env:' : textOf(draft.secret)];
  const { fault } = toSecrets(secret);
  const needs = [
    id.startsWith('env:') && `set client_id to the value of ${id.slice(4)}`,
    /^env:./.test(secret) && `set ${secret.slice(4)} in the environment`,
    fault && `its secret ${fault}. Set another, of "postern client secret", here and in the app`,
  ];
  return needs.map((need) => (need ? `client ${id}: ${need}` : ''));
}

/** The problems that `postern check` reports. */
const faultsOf = (folder: string): Promise<readonly string[]> =>
  loadConfig(join(folder, 'postern.yaml'), { readSecrets: false, writeKeys: false }).then(
    () => [],
    (error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map((problem) => formatProblem(problem).replaceAll(`${folder}/`, ''));
    },
  );

function settingsOf(name: Name, content: unknown): Fields {
  const settings: Record<string, Record<string, unknown>> = {};
  for (const [ours, theirs] of Object.entries(PROVIDERS[name].settings)) {
    const [section = '', key = ''] = ours.split('/');
    const values = theirs.split(' ').map((path) => valueAt(content, path));
    const value = values.find((one) => one !== undefined);
    (settings[section] ??= {})[key] = section === 'lifetimes' ? durationOf(value) : value;
  }
  return settings;
}

const UNITS: Fields = { ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, M: 2_592_000, y: 31_536_000 };

/** Converts `1h30m` of Go, `2 weeks` of Authelia and seconds of Keycloak to our notation. Undefined: less than a second. */
function durationOf(value: unknown): string | undefined {
  let seconds = typeof value === 'number' ? value : 0;
  for (const [, count, unit = ''] of textOf(value).matchAll(/([\d.]+)\s*([a-z]*)/gi))
    seconds += Number(count) * Number(UNITS[unit.replace(/^mo.*/, 'M')] ?? UNITS[unit[0] ?? 's']);
  return seconds >= 1 ? formatDuration(Math.round(seconds)) : undefined;
}

function toEntry({ username, passwordHash, groups, disabled, claims }: UserDraft) {
  const standard = Object.entries(claims).filter(([name]) => STANDARD_CLAIMS.includes(name));
  const own = { preferred_username: username, ...Object.fromEntries(standard) };
  return { id: newUserId(), username, password_hash: passwordHash, disabled, groups, ...own };
}

const usesCode = ({ grants }: ClientDraft) => grants.includes('authorization_code');
const mayOmitPkce = (draft: ClientDraft) =>
  usesCode(draft) && !draft.isPublic && draft.client['require_pkce'] !== true;

function toForm(draft: ClientDraft, hasGroups: boolean) {
  const { client, isPublic, grants, scopes } = draft;
  const plain = ['email', 'profile', ...(hasGroups ? ['groups'] : [])].filter((one) => scopes.includes(one));
  // Refresh tokens are issued for offline_access only. A service has no scope that is about users.
  const all = ['openid', ...plain, ...(grants.includes('refresh_token') ? ['offline_access'] : [])];
  return {
    ...client,
    require_pkce: !mayOmitPkce(draft),
    ...(isPublic && { token_endpoint_auth_method: 'none', consent: undefined }),
    client_secrets: isPublic ? [] : toSecrets(textOf(draft.secret)).secrets,
    grant_types: grants,
    scope: usesCode(draft) ? all.join(' ') : '',
  };
}

function notesOfClient(draft: ClientDraft, unread: readonly string[]): readonly string[] {
  const left = [...unread, ...(draft.left ?? [])];
  const foreign = draft.scopes.filter((one) => ![...SPECIFICATION_SCOPES, 'groups'].includes(one));
  const notes = [
    mayOmitPkce(draft) && 'PKCE stays optional. Set require_pkce: true if the app uses it',
    foreign.length > 0 && `scopes left out: ${foreign.join(', ')}. Define them in resources, and add them`,
    left.length > 0 && `not carried over: ${left.join(', ')}`,
  ];
  return notes.map((note) => (note ? `client ${idOf(draft)}: ${note}` : ''));
}

function toSecrets(secret: string): Readonly<{ secrets: readonly object[]; fault?: string }> {
  if (secret.startsWith('env:')) return { secrets: [{ value: secret }] };
  // Slow hashes can't be compared here, and a template isn't the secret. An export without secrets has asterisks instead.
  const fault = /^(\$.*|\**)$|\{\{/.test(secret) ? "can't be imported" : weakness(secret);
  if (fault !== undefined) return { secrets: [], fault };
  return { secrets: [{ hash: `sha256:${digestOf(secret).toString('hex')}`, name: 'imported' }] };
}

function toYaml(value: unknown): string {
  const yaml = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
  const isSafe = yaml.split('\n').every((line) => escaped(line) === line);
  // JSON is YAML, and can escape every character.
  const lines = (isSafe ? yaml : `${JSON.stringify(value, undefined, 2)}\n`).split('\n');
  return lines.map(escaped).join('\n');
}
