// `postern user …`. What may change about a user while the service runs applies from the next request on, in every process.
import type { Command } from 'commander';
import { usernameFault } from '../config/text.ts';
import { loadConfig } from '../config/load.ts';
import { USER_COMMANDS } from '../features/commands.ts';
import { deleteUser, disable, setPassword, signOut } from '../users/acts.ts';
import { hashPassword } from '../users/passwords.ts';
import { passwordContext } from '../users/password-rules.ts';
import type { User } from '../users/user.ts';
import { addVerb, checked, jsonOption, type VerbOptions } from './configuration.ts';
import { print, printDone, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { addGrantedOptions, addNew, type GrantedOptions, newUser, registerSet } from './user-access.ts';
import { registerUserLinks } from './user-links.ts';
import { registerList } from './user-list.ts';
import {
  addChange,
  type Done,
  isGone,
  newUserId,
  OPERATOR,
  type UserContext,
  withUsers,
} from './user-context.ts';

type AddOptions = VerbOptions & GrantedOptions;
type HashOptions = { readonly username: string; readonly config?: string; readonly json?: boolean };

export async function registerUser(program: Command, io: CliIo): Promise<void> {
  const verbs = program.command('user').description('manage users');
  const added = addVerb(verbs, 'add', 'add a user to the store (password typed, or from stdin)');
  added.argument('<username>', 'what the user types to sign in', checked(usernameFault));
  addGrantedOptions(added).action((username: string, options: AddOptions) =>
    withUsers(options, (context) => add(context, username, { options, io })),
  );
  registerSet(verbs, io);
  addChange(verbs, io, {
    name: 'password',
    description: 'set a new password for a user of the store, and end all sessions and tokens',
    isStored: true,
    act: (context, user) => changePassword(context, user, io),
  });
  addChange(verbs, io, {
    name: 'delete',
    description: 'delete a user of the store; the id is never used again',
    isStored: true,
    act: remove,
  });
  verbs
    .command('hash')
    .description('hash a password (typed, or from stdin), and make the entry for the users file')
    .option('-u, --username <name>', 'who it is for', 'somebody')
    .option('-c, --config <file>', 'the configuration file whose rules for passwords hold')
    .addOption(jsonOption())
    .action((options: HashOptions) => hash(options, io));
  registerList(verbs, io);
  addChange(verbs, io, {
    name: 'disable',
    description: 'end all sessions and tokens of a user, and refuse sign-ins',
    act: async (context, { id, username }) => ({
      value: { valid_after: await disable(context, OPERATOR, id), disabled: true },
      text: `Disabled ${username}`,
    }),
  });
  registerUserLinks(verbs, io);
  for (const load of Object.values(USER_COMMANDS)) await (await load())(verbs, io);
  addChange(verbs, io, {
    name: 'sign-out',
    description: 'end all sessions and tokens of a user, who can sign in again',
    act: async (context, { id, username }) => ({
      value: { valid_after: await signOut(context, OPERATOR, id) },
      text: `Signed out ${username}`,
    }),
  });
}

async function add(
  context: UserContext,
  username: string,
  { options, io }: { readonly options: AddOptions; readonly io: CliIo },
): Promise<void> {
  const user = await newUser(context, username, options);
  const { id, groups, claims } = user;
  const password = await readPassword(io, passwordContext(context.config, user));
  await addNew(context, { ...user, passwordHash: await hashPassword(password) });
  printDone(io, options, {
    value: { id, username, source: 'store', groups, claims },
    text: `Added ${username}: ${id}`,
  });
}

async function changePassword(context: UserContext, user: User, io: CliIo): Promise<Done> {
  const { id, username } = user;
  const password = await readPassword(io, passwordContext(context.config, user));
  const passwordHash = await hashPassword(password);
  const changed = await setPassword(context, OPERATOR, { accountId: id, passwordHash });
  if (changed === undefined) throw isGone(username);
  return {
    value: { valid_after: changed.validAfter },
    text: `Set a new password for ${username}, and signed them out everywhere`,
  };
}

async function remove(context: UserContext, { id, username }: User): Promise<Done> {
  if (!(await deleteUser(context, OPERATOR, id))) throw isGone(username);
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
  if (!json) io.stderr.write('For the users file, under users:\n');
  print(io, { json }, { value: { id, username, password_hash: passwordHash, yaml }, text: yaml });
}
