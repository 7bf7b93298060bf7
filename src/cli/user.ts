// `postern user …`. A change to a user while the service runs applies from the next request on, in every process.
import type { Command } from 'commander';
import { loadConfig } from '../config/load.ts';
import { ADDITIONS, USER_COMMANDS } from '../features/commands.ts';
import { deleteUser, disable, setPassword, signOut } from '../users/acts.ts';
import { hashPassword } from '../users/passwords.ts';
import { passwordContext } from '../users/password-rules.ts';
import type { User } from '../users/user.ts';
import { jsonOption, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { addNew, addNewVerb, type GrantedOptions, newUser, registerSet } from './user-access.ts';
import { registerUserLinks } from './user-links.ts';
import { registerList } from './user-list.ts';
import {
  addChange,
  type Done,
  goneError,
  newUserId,
  COMMAND_LINE,
  type UserContext,
  withUsers,
} from './user-context.ts';

type AddOptions = VerbOptions & GrantedOptions;
type HashOptions = Readonly<{ username: string; config?: string; json?: boolean }>;

export async function registerUser(program: Command, io: CliIo): Promise<void> {
  const verbs = program.command('user').description('manage users');
  const description = 'add a user to the store (reads the password from the terminal or stdin)';
  addNewVerb(verbs, 'add', description).action((username: string, options: AddOptions) =>
    withUsers(options, io, (context) => add(context, username, { options, io })),
  );
  registerSet(verbs, io);
  addChange(verbs, io, {
    name: 'password',
    description: 'set a new password for a user in the store and sign them out everywhere',
    isStored: true,
    act: (context, user) => changePassword(context, user, io),
  });
  addChange(verbs, io, {
    name: 'delete',
    description: 'delete a user from the store (the ID is never reused)',
    isStored: true,
    question: ({ username }) => `Delete ${username}?`,
    act: remove,
  });
  verbs
    .command('hash')
    .description('hash a password and print the entry for the users file')
    .option('-u, --username <name>', 'the username', 'username')
    .option('-c, --config <file>', 'configuration file with the password rules')
    .addOption(jsonOption())
    .action((options: HashOptions) => hash(options, io));
  registerList(verbs, io);
  addChange(verbs, io, {
    name: 'disable',
    description: 'block a user from signing in and revoke all their sessions and tokens',
    act: async (context, { id, username }) => ({
      value: { valid_after: await disable(context, COMMAND_LINE, id), disabled: true },
      text: `Disabled ${username}`,
    }),
  });
  registerUserLinks(verbs, io, ADDITIONS);
  for (const load of Object.values(USER_COMMANDS)) await (await load())(verbs, io);
  addChange(verbs, io, {
    name: 'sign-out',
    description: "revoke all of a user's sessions and tokens",
    act: async (context, { id, username }) => ({
      value: { valid_after: await signOut(context, COMMAND_LINE, id) },
      text: `Signed out ${username}`,
    }),
  });
}

async function add(
  context: UserContext,
  username: string,
  { options, io }: Readonly<{ options: AddOptions; io: CliIo }>,
): Promise<void> {
  const user = await newUser(context, username, options);
  const { id, groups, claims } = user;
  const password = await readPassword(io, passwordContext(context.config, user));
  await addNew(context, { ...user, passwordHash: await hashPassword(password) });
  print(io, options, {
    value: { id, username, source: 'store', groups, claims },
    text: `Added ${username}: ${id}`,
  });
}

async function changePassword(context: UserContext, user: User, io: CliIo): Promise<Done> {
  const { id, username } = user;
  const password = await readPassword(io, passwordContext(context.config, user));
  const passwordHash = await hashPassword(password);
  const changed = await setPassword(context, COMMAND_LINE, { accountId: id, passwordHash });
  if (changed === undefined) throw goneError(username);
  return {
    value: { valid_after: changed.validAfter },
    text: `Changed the password of ${username} and signed them out everywhere`,
  };
}

async function remove(context: UserContext, { id, username }: User): Promise<Done> {
  if (!(await deleteUser(context, COMMAND_LINE, id))) throw goneError(username);
  return { value: { deleted: true }, text: `Deleted ${username}` };
}

async function hash({ username, config: file, json = false }: HashOptions, io: CliIo): Promise<void> {
  const context =
    file === undefined
      ? { minLength: 15, names: [username, 'Postern'] }
      : passwordContext(await loadConfig(file, { readSecrets: false, writeKeys: false }), { username });
  const passwordHash = await hashPassword(await readPassword(io, context));
  const id = newUserId();
  const name = JSON.stringify(username);
  const yaml = `- id: ${id}\n  username: ${name}\n  password_hash: ${passwordHash}\n  preferred_username: ${name}\n`;
  if (!json) io.stderr.write('Add this to users in the users file:\n');
  print(io, { json }, { value: { id, username, password_hash: passwordHash, yaml }, text: yaml.trim() });
}
