// `postern user list`: lists users. The store is read page by page, so that a list of any length needs the memory of one page.
import { setImmediate } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { canonicalUsername } from '../config/text.ts';
import { ADDITIONS } from '../features/commands.ts';
import { type Factors, NO_FACTORS } from '../users/factors.ts';
import { type User, userOfFile } from '../users/user.ts';
import { ensureUsernameIndex, usernameSort } from '../users/username-index.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { counted, print, type CliIo } from './io.ts';
import { addListOptions, type ListOptions, printList } from './table.ts';
import { withProgress } from './terminal.ts';
import { findUser, stayInBackground, type UserContext, withUsers } from './user-context.ts';

type Options = VerbOptions & ListOptions & Readonly<Record<string, unknown>> & { readonly after?: string };
type Row = Awaited<ReturnType<typeof toRows>>[number];

/** Filters by the name of their option. */
const FILTERS: Readonly<Record<string, (row: Row, given: string) => boolean>> = {
  group: ({ groups }, name) => groups.includes(name),
  search: ({ username, email }, text) =>
    [username, email].some(
      (one) => typeof one === 'string' && canonicalUsername(one).includes(canonicalUsername(text)),
    ),
  invited: ({ invited }) => invited,
  disabled: ({ disabled }) => disabled,
  withoutFactor: ({ factors }) => factors.passkeys === 0 && !factors.one_time_codes,
  neverSignedIn: (row) => row.last_sign_in === undefined,
};
/** Users in the store per page. */
const PAGE = 200;

export function registerList(user: Command, io: CliIo): void {
  addListOptions(addVerb(user, 'list', "list users, or show one user's groups and claims"))
    .argument('[username]', 'username or ID')
    .option('--group <name>', 'only users in this group')
    .option('--search <text>', 'only users with this text in their username or email address')
    .option('--invited', "only invited users who haven't set a password")
    .option('--without-factor', 'only users without a second factor')
    .option('--never-signed-in', 'only users with no recorded sign-in')
    .option('--disabled', 'only disabled users')
    .option('--limit <number>', 'at most this many users', parseLimit)
    .option('--after <username>', 'only users after this name, to continue a list')
    .action((typed: string | undefined, options: Options) =>
      withUsers({ ...options, mustExist: true }, io, (context) =>
        typed === undefined ? list(context, options, io) : show(context, typed, options, io),
      ),
    );
}

function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('it must be 1 or more');
  return Number(text);
}

async function show(context: UserContext, typed: string, options: Options, io: CliIo): Promise<void> {
  const user = await findUser(context, typed);
  const [row] = await toRows(context, [user], io);
  const undefined_groups = user.groups.filter((name) => !Object.hasOwn(context.config.groups, name));
  const details = await Promise.all(
    Object.values(ADDITIONS).map(async (load) => (await load()).detailsOf(context, user)),
  );
  const value = { ...row, undefined_groups, ...Object.assign({}, ...details), claims: user.claims };
  print(io, options, { value });
}

async function list(context: UserContext, options: Options, io: CliIo): Promise<void> {
  stayInBackground();
  await withProgress(io, 'Building the index of usernames', ensureUsernameIndex(context.store));
  const status = { key: 'status', colours: { disabled: 'red', shadowed: 'red', invited: 'yellow' } } as const;
  const lastSignIn = { key: 'last_sign_in', isTime: true } as const;
  await printList(io, options, {
    rows: rowsOf(context, options, io),
    none: 'No users found.',
    columns: ['username', 'email', 'groups', { key: 'factors', show: inWords }, lastSignIn, status, 'source'],
    wide: ['id'],
  });
}

async function* rowsOf(context: UserContext, options: Options, io: CliIo): AsyncGenerator<Row> {
  const filters = Object.entries(FILTERS).filter(([name]) => options[name] !== undefined);
  let [last, left] = ['', Number(options['limit'] ?? Infinity)];
  const pages = inOrder(context, options.after ?? '', filters.length > 0 ? PAGE : Math.min(left, PAGE), io);
  for await (const page of pages) {
    // lmdb returns pages without a turn of the event loop, so the output would pile up in memory.
    await setImmediate();
    for (const row of await toRows(context, page, io)) {
      if (!filters.every(([name, fits]) => fits(row, String(options[name])))) continue;
      // A shadowed user has the same name as the user before, so `--after` can't continue between them.
      if (left-- <= 0 && compare(row.username, last) > 0) return;
      last = row.username;
      yield row;
    }
  }
}

/** Compares by code points, like the index. */
const compare = (one: string, other: string) =>
  Buffer.compare(Buffer.from(usernameSort(one)), Buffer.from(usernameSort(other)));

const byName = (one: User, other: User) => compare(one.username, other.username);

/** Reads users in the file and the store, page by page. */
async function* inOrder({ config, storedUsers }: UserContext, after: string, atOnce: number, io: CliIo) {
  let left: readonly User[] = config.users
    .map(userOfFile)
    .filter(({ username }) => compare(username, after) > 0);
  for await (const page of storedUsers.byName({ after, atOnce }, warnTo(io))) {
    const last = page.at(-1)?.username ?? '';
    // The sort is stable: a user in the file comes before the user that they shadow.
    yield [...left.filter(({ username }) => compare(username, last) <= 0), ...page].toSorted(byName);
    left = left.filter(({ username }) => compare(username, last) > 0);
  }
  yield left.toSorted(byName);
}

const warnTo = (io: CliIo) => (_id: string, fault: Error) => io.stderr.write(`warning: ${fault.message}\n`);

async function toRows({ accounts, states, factors }: UserContext, users: readonly User[], io: CliIo) {
  const ids = users.map(({ id }) => id);
  const [known, all] = await Promise.all([states.getAll(ids, warnTo(io)), factors.getAll(ids, warnTo(io))]);
  return users.map((user) => {
    const { id, username, source, groups, claims, canSetPassword, hasPassword } = user;
    const { disabled = false, lastSignIn } = known.get(id) ?? {};
    const is = {
      disabled: user.disabled || disabled,
      invited: canSetPassword && !hasPassword,
      shadowed: accounts.isShadowed(user),
    };
    // The reason why the user can't sign in.
    const status = (['disabled', 'shadowed', 'invited'] as const).find((state) => is[state]) ?? 'active';
    const last_sign_in = lastSignIn && new Date(lastSignIn * 1000).toISOString();
    const email = claims['email'];
    // Includes factors while second factors are off: a user with one can't sign in by password then.
    return {
      username,
      id,
      email,
      source,
      status,
      last_sign_in,
      ...is,
      factors: countFactors(all.get(id)),
      groups,
    };
  });
}

const countFactors = ({ passkeys, oneTimeCode, recoveryCodes }: Factors = NO_FACTORS) => ({
  passkeys: passkeys.length,
  one_time_codes: oneTimeCode !== undefined,
  recovery_codes: recoveryCodes.length,
});

const inWords = ({ factors: { passkeys, one_time_codes, recovery_codes } }: Row) =>
  [
    passkeys > 0 && counted(passkeys, 'passkey'),
    one_time_codes && 'one-time codes',
    recovery_codes > 0 && counted(recovery_codes, 'recovery code'),
  ]
    .filter((one) => one !== false)
    .join(', ');
