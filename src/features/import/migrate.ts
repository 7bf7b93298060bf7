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
import { type Fields, recordsOf, textOf, textsOf, valueAt } from './fields.ts';
import { type ClientDraft, POLICY_GROUP, PROVIDERS } from './providers.ts';
import { readUsers, type UserDraft } from './users.ts';

type Name = keyof typeof PROVIDERS;
type Options = Readonly<{ out: string; issuer?: string }>;

/** Resolves the report. Throws ConfigError for input that can't be read, and CommandError; then nothing is written. */
export async function migrate(name: Name, file: string, { out, issuer }: Options): Promise<string> {
  const { clientsAt, toClient, issuerOf, groupsOf, notesOf } = PROVIDERS[name];
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
    ...groupsOf(content),
    ...drafts.flatMap(({ client }) => textsOf(valueAt(client, 'access/groups'))),
    ...users.flatMap(({ groups }) => groups ?? []),
  ];
  const groups = [...new Set(named)].filter((one) => !one.startsWith(POLICY_GROUP)).toSorted();
  const entries = users.filter(({ passwordHash }) => passwordHash !== undefined).map(toEntry);
  const needsFactor = drafts.some(({ client }) => client['sign_in'] !== undefined);
  const factors = { passkeys: true, one_time_codes: true, recovery_codes: 10 };
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
    ...(needsFactor && { sign_in: factors }),
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
  const attributes = users.flatMap(({ claims }) => Object.keys(claims));
  const report = {
    [`From ${name} to Postern`]: Object.keys(files),
    'The sub of every user changes': [
      'Apps that know users by sub take each for a new user. Before you switch, set them to match users by email address or username',
    ],
    'To fill in: postern check refuses the files until then': (await faultsOf(out)).concat(
      drafts.map(neededBy),
    ),
    'What changes': [
      ...drafts.flatMap(notesOfClient),
      left > 0
        ? `passwords: those of ${counted(left, 'user')} can't be taken over. Send each user a link, as below`
        : '',
      needsFactor ? 'second factors: users need new ones. Send each a link of "postern user enrol"' : '',
      ...[...new Set(attributes)]
        .filter((one) => !STANDARD_CLAIMS.includes(one))
        .map((one) => `attribute of users ${one}: left out`),
      ...notesOf(content),
    ],
    Next: ['check', 'serve', left > 0 ? `user import ${file} --from ${name} --invite` : ''].map(
      (verb) => verb && `postern ${verb} --config ${join(out, 'postern.yaml')}`,
    ),
  };
  const parts = Object.entries(report).map(([title, lines]) => `## ${title}\n\n${toList(lines)}`);
  await writeAll(out, { 'REPORT.md': parts.join('\n') });
  return parts.join('\n');
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

function neededBy({ client, secret, isPublic }: ClientDraft): string {
  const [, variable] = /^env:(.+)/.exec(isPublic ? '' : textOf(secret)) ?? [];
  return variable === undefined
    ? ''
    : `client ${textOf(client['client_id'])}: set ${variable} in the environment`;
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
  const found = Object.entries(PROVIDERS[name].settings).map(([ours, theirs]) => {
    const [section = '', key = ''] = ours.split('/');
    const value = valueAt(content, theirs);
    return { section, entry: [key, section === 'lifetimes' ? durationOf(value) : value] };
  });
  const sections = Map.groupBy(found, ({ section }) => section);
  return Object.fromEntries(
    [...sections].map(([section, some]) => [section, Object.fromEntries(some.map(({ entry }) => entry))]),
  );
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

function notesOfClient(draft: ClientDraft): readonly string[] {
  const { fault } = draft.isPublic ? {} : toSecrets(textOf(draft.secret));
  const foreign = draft.scopes.filter((one) => ![...SPECIFICATION_SCOPES, 'groups'].includes(one));
  const notes = [
    fault && `its secret ${fault}. Make one with "postern client secret"`,
    mayOmitPkce(draft) && 'PKCE stays optional. Set require_pkce: true if the app uses it',
    foreign.length > 0 && `scopes left out: ${foreign.join(', ')}. Define them in resources, and add them`,
    draft.left.length > 0 && `not carried over: ${draft.left.join(', ')}`,
  ];
  return notes.map((note) => (note ? `client ${textOf(draft.client['client_id'])}: ${note}` : ''));
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
