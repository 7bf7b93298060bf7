// Reads users from files of other systems, each with its place in the file.
import { basename, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { readDocument, readText, type SourceDocument } from '../../config/document.ts';
import { isRecord, parseJsonObject } from '../../config/parse-fields.ts';
import { formatPath, orReport, type Path, type ProblemList } from '../../config/problems.ts';
import { phcFault } from '../../config/secret-strength.ts';
import { escaped } from '../../config/text.ts';
import { fromCsv } from '../../cli/table.ts';
import { toClaim } from '../../cli/user-access.ts';
import { type Fields, recordReads, recordsOf, textOf, textsOf, valueAt } from './fields.ts';

type UserFields = Readonly<{
  username: string;
  /** argon2id, as a PHC string. */
  passwordHash: string | undefined;
  /** Undefined: the file doesn't name groups. */
  groups: readonly string[] | undefined;
  disabled: unknown;
  /** Also has attributes that aren't claims here. */
  claims: Fields;
}>;

export type UserDraft = UserFields & {
  readonly report: (message: string) => void;
  /** `users.csv:12`, for messages about other entries. */
  readonly place: () => string;
};

/** Roles that Keycloak gives all users. */
export const isOwnRole = (role: string) => /^(default-roles-.*|offline_access|uma_authorization)$/.test(role);

/** Only argon2id can be compared here. */
const takenHash = (hash: unknown) => (phcFault(textOf(hash)) === undefined ? textOf(hash) : undefined);

/** Columns of `postern user list -o csv` that an import ignores. */
export const OF_LIST = ['factors', 'last_sign_in', 'status', 'source', 'id'];

/** In other files, `status` may be a claim. */
const disabledInList = ({ status, last_sign_in: lastSignIn }: Fields) =>
  lastSignIn !== undefined && status === 'disabled' ? 'true' : '';

const READERS = {
  /** An empty cell counts as absent. */
  csv: ({ username, groups, password_hash: hash, disabled, ...claims }: Fields): UserFields => ({
    username: textOf(username),
    passwordHash: textOf(hash) || undefined,
    groups: groups === undefined ? undefined : textOf(groups).split(/ *; */).filter(Boolean),
    disabled: { '': false, true: true, false: false }[textOf(disabled ?? disabledInList(claims))],
    claims: Object.fromEntries(
      Object.entries(claims).flatMap(([name, text]) =>
        text === '' ? [] : [[name, toClaim(name, textOf(text))]],
      ),
    ),
  }),
  /** Dex identifies users by address, and has bcrypt hashes, which are left out. */
  dex: ({ email, username, name = username, emailVerified = true, groups }: Fields): UserFields => ({
    username: textOf(email),
    passwordHash: undefined,
    groups: textsOf(groups),
    disabled: false,
    claims: { email, email_verified: emailVerified, name, preferred_username: username },
  }),
  authelia: (
    { password, groups, disabled = false, displayname: name, extra, ...claims }: Fields,
    username: string,
  ): UserFields => ({
    username,
    passwordHash: takenHash(password),
    groups: textsOf(groups),
    // In YAML 1.1, `yes` means true. It is reported.
    disabled,
    claims: { ...(isRecord(extra) && extra), name, ...claims },
  }),
  /** A group is named by its path, and a role of the realm is a group. Service accounts aren't users. */
  keycloak(fields: Fields): UserFields | undefined {
    if (fields['serviceAccountClientId'] !== undefined) return undefined;
    const { username, email, emailVerified: email_verified, firstName, lastName, attributes } = fields;
    const { enabled = true } = fields;
    const own = Object.entries(isRecord(attributes) ? attributes : {}).map(([key, value]) => [
      key,
      textsOf(value)[0],
    ]);
    const name = `${textOf(firstName)} ${textOf(lastName)}`.trim() || undefined;
    const standard = { email, email_verified, name, given_name: firstName, family_name: lastName };
    const mustChange = textsOf(fields['requiredActions']).includes('UPDATE_PASSWORD');
    const paths = textsOf(fields['groups']).map((path) => path.replace(/^\//, ''));
    return {
      username: textOf(username),
      passwordHash: mustChange ? undefined : hashOfKeycloak(fields['credentials']),
      groups: [...paths, ...textsOf(fields['realmRoles']).filter((role) => !isOwnRole(role))],
      disabled: typeof enabled === 'boolean' ? !enabled : enabled,
      claims: { ...Object.fromEntries(own), ...standard },
    };
  },
};

/** The parts of an argon2id hash are in two JSON texts. */
function hashOfKeycloak(credentials: unknown): string | undefined {
  const password = recordsOf(credentials).find(({ type }) => type === 'password');
  const data = parseJsonObject(textOf(password?.['credentialData']));
  const { value, salt } = parseJsonObject(textOf(password?.['secretData'])) ?? {};
  const [kind, memory, lanes] = ['type', 'memory', 'parallelism'].map(
    (name) => textsOf(valueAt(data, `additionalParameters/${name}`))[0],
  );
  const cost = `$argon2${kind}$v=19$m=${memory},t=${String(data?.['hashIterations'])},p=${lanes}`;
  return takenHash([cost, salt, value].map((part) => textOf(part).replace(/=+$/, '')).join('$'));
}

export type UserFormat = keyof typeof READERS;
export const USER_FORMATS = Object.keys(READERS);

/** Resolves the users, and all of the content. Authelia's file names the file with users, usually in the folder of a container. */
export async function readUsers(format: UserFormat, file: string, problems: ProblemList) {
  if (format === 'csv')
    return { users: draftsIn(await readCsv(file, problems), format, problems), content: undefined };
  const document = await readDocument(file, problems);
  const content = recordReads(document?.content);
  const named = textOf(valueAt(content, 'authentication_backend/file/path'));
  const database = named && document ? join(document.folder, basename(named)) : file;
  const listed =
    database === file ? document && { ...document, content } : await readDocument(database, problems);
  return { users: listed ? draftsIn(listed, format, problems) : [], content };
}

type Listed = Pick<SourceDocument, 'file' | 'content' | 'locate'>;

function draftsIn({ file, content, locate }: Listed, format: UserFormat, problems: ProblemList): UserDraft[] {
  const key = format === 'dex' ? 'staticPasswords' : 'users';
  const found = valueAt(content, key);
  const entries: Iterable<readonly [string | number, unknown]> = Array.isArray(found)
    ? found.entries()
    : Object.entries(isRecord(found) ? found : {});
  return Array.from(entries).flatMap(([name, fields]) => {
    const where = [key, name];
    const path = escaped(formatPath(where)).slice(0, 80);
    const report = (message: string) => problems.add({ file, ...locate(where, 'value'), path, message });
    if (!isRecord(fields)) report('must be a user: keys and values');
    const user = isRecord(fields) && READERS[format](fields, String(name));
    return user ? [{ ...user, report, place: () => `${file}:${locate(where, 'value').line}` }] : [];
  });
}

/** Its first line names the columns. */
async function readCsv(file: string, problems: ProblemList): Promise<Listed> {
  const source = await orReport(readText(file), (message) => problems.add({ file, message }));
  const lines: unknown[] = [];
  const users = parse<Fields>(source ?? '', {
    bom: true,
    columns: (header: string[]) => header.map((name) => name.trim()),
    trim: true,
    cast: (cell, { header }) => (header ? cell : fromCsv(cell)),
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip(error) {
      // Only the code, because a message may quote the file.
      problems.add({ file, line: Number(error?.['lines']), message: `is not valid CSV: ${error?.code}` });
    },
    on_record(user: Fields, context) {
      lines.push(context['lines']);
      return user;
    },
  });
  const locate = ([, index]: Path) => ({ line: Number(lines[Number(index)]), column: 1 });
  return { file, content: { users }, locate };
}
