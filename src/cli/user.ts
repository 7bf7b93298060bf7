// `postern user …`. What may change about a user while the service runs applies from the next request on, in every process.
import type { Command } from 'commander';
import { usernameFault } from '../config/text.ts';
import { type AccountState, nextValidAfter } from '../users/account-state.ts';
import { hashPassword } from '../users/passwords.ts';
import { passwordContext } from '../users/password-rules.ts';
import { withName } from '../users/stored-users.ts';
import type { User } from '../users/user.ts';
import { addVerb, checked, jsonOption, readConfig, type VerbOptions } from './configuration.ts';
import { print, printDone, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { addGrantedOptions, checkGranted, type GrantedOptions, registerSet } from './user-access.ts';
import { registerUserFactors } from './user-factors.ts';
import { registerUserLinks } from './user-links.ts';
import { registerList } from './user-list.ts';
import {
  addChange,
  type Done,
  isGone,
  isTaken,
  lookUpUser,
  newUserId,
  type UserContext,
  usualPasswordContext,
  withUsers,
} from './user-context.ts';

type AddOptions = VerbOptions & GrantedOptions;
type HashOptions = { readonly username: string; readonly config?: string; readonly json?: boolean };

export function registerUser(program: Command, io: CliIo): void {
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
    act: (context, user) => setPassword(context, user, io),
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
    // What was issued up to now stays void when the user comes back.
    act: (context, user) => endAll(context, user, { disabled: true }),
  });
  registerUserLinks(verbs, io);
  registerUserFactors(verbs, io);
  addChange(verbs, io, {
    name: 'sign-out',
    description: 'end all sessions and tokens of a user, who can sign in again',
    act: (context, user) => endAll(context, user),
  });
}

async function add(
  context: UserContext,
  username: string,
  { options, io }: { readonly options: AddOptions; readonly io: CliIo },
): Promise<void> {
  const { config, storedUsers } = context;
  const { claims: given, groups } = checkGranted(config, options);
  const claims = withName(username, given);
  if ((await lookUpUser(context, username)) !== undefined) throw isTaken(username);
  const password = await readPassword(io, passwordContext(config, { username, claims }));
  const passwordHash = await hashPassword(password);
  const id = newUserId();
  if (!(await storedUsers.add({ id, username, passwordHash, groups, claims }))) throw isTaken(username);
  await context.changed('add', id);
  printDone(io, options, {
    value: { id, username, source: 'store', groups, claims },
    text: `Added ${username}: ${id}`,
  });
}

async function setPassword(context: UserContext, user: User, io: CliIo): Promise<Done> {
  const { id, username } = user;
  const password = await readPassword(io, passwordContext(context.config, user));
  const passwordHash = await hashPassword(password);
  const changed = await context.storedUsers.setPassword(id, passwordHash, context.nextSecond());
  if (changed === undefined) throw isGone(username);
  await context.account?.endVoid(id);
  await context.account?.tell(id, 'password_changed');
  return {
    value: { valid_after: changed.validAfter },
    text: `Set a new password for ${username}, and signed them out everywhere`,
  };
}

async function remove(context: UserContext, { id, username }: User): Promise<Done> {
  if (!(await context.storedUsers.remove(id))) throw isGone(username);
  await context.factors.remove(id);
  await context.account?.endVoid(id);
  await context.forget(id);
  return { value: { deleted: true }, text: `Deleted ${username}` };
}

async function hash({ username, config: file, json = false }: HashOptions, io: CliIo): Promise<void> {
  const context =
    file === undefined
      ? usualPasswordContext(username)
      : passwordContext(await readConfig(file, { readSecrets: false, writeKeys: false }), { username });
  const passwordHash = await hashPassword(await readPassword(io, context));
  const id = newUserId();
  const name = JSON.stringify(username);
  const yaml = `- id: ${id}\n  username: ${name}\n  password_hash: ${passwordHash}\n  preferred_username: ${name}\n`;
  if (!json) io.stderr.write('For the users file, under users:\n');
  print(io, { json }, { value: { id, username, password_hash: passwordHash, yaml }, text: yaml });
}

async function endAll(
  context: UserContext,
  { id, username }: User,
  change: Partial<AccountState> = {},
): Promise<Done> {
  const { validAfter } = await context.states.update(id, (before) => ({
    ...change,
    validAfter: nextValidAfter(before.validAfter, context.nextSecond()),
  }));
  await context.account?.endVoid(id);
  await context.account?.tell(id, 'sessions_ended');
  const did = change.disabled === true ? 'Disabled' : 'Signed out';
  return { value: { valid_after: validAfter, ...change }, text: `${did} ${username}` };
}
