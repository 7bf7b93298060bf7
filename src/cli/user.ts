// `postern user …`. What may change about a person while the service runs applies from the next request on, in every process.
import type { Command } from 'commander';
import { usernameFault } from '../config/text.ts';
import { type AccountState, nextValidAfter } from '../users/account-state.ts';
import { withName } from '../users/people.ts';
import { hashPassword } from '../users/passwords.ts';
import { passwordContext } from '../users/password-rules.ts';
import { findShadowed } from '../users/shadowed.ts';
import { addVerb, checked, jsonOption, readConfig, type VerbOptions } from './configuration.ts';
import { CommandError, print, printDone, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { addGrantedOptions, checkGranted, type GrantedOptions, registerUserAccess } from './user-access.ts';
import { countFactors, factorRemarks, registerUserFactors } from './user-factors.ts';
import { registerUserLinks } from './user-links.ts';
import {
  findInFile,
  findPerson,
  findStoredPerson,
  INVITED,
  isTaken,
  newPersonId,
  type PersonVerb,
  type RunVerb,
  type SourcedPerson,
  type UserContext,
  usualPasswordContext,
  withPeople,
} from './user-people.ts';

type AddOptions = VerbOptions & GrantedOptions;
type HashOptions = { readonly username: string; readonly config?: string; readonly json?: boolean };

export function registerUser(program: Command, io: CliIo): void {
  const user = program.command('user').description('people');
  const run: RunVerb = (verb) => (username, options) =>
    withPeople(options, (context) => verb(context, username, { options, io }));
  const added = addVerb(user, 'add', 'add a person to the store (password typed, or from stdin)').argument(
    '<username>',
    'what the person types to sign in',
    checked(usernameFault),
  );
  addGrantedOptions(added).action(run(add));
  registerUserAccess(user, run);
  addVerb(user, 'password', 'give a person of the store a new password, and end all sessions and tokens')
    .argument('<username>')
    .action(run(setPassword));
  addVerb(user, 'delete', 'delete a person of the store; the id is never used again')
    .argument('<username>')
    .action(run(remove));
  user
    .command('hash')
    .description('hash a password (typed, or from stdin), and make the entry for the users file')
    .option('-u, --username <name>', 'who it is for', 'somebody')
    .option('-c, --config <file>', 'the configuration file whose rules for passwords hold')
    .addOption(jsonOption())
    .action((options: HashOptions) => hash(options, io));
  addVerb(user, 'list', 'who can sign in, and where they come from').action((options: VerbOptions) =>
    withPeople(options, (context) => list(context, options, io), { mustExist: true }),
  );
  addVerb(user, 'disable', 'end all sessions and tokens of a person, now')
    .argument('<username>')
    .action(run(disable));
  registerUserLinks(user, run);
  registerUserFactors(user, io);
  addVerb(user, 'sign-out', 'end all sessions and tokens of a person, now; they can sign in again')
    .argument('<username>')
    .action(run(signOut));
}

const add: PersonVerb<AddOptions> = async (context, username, { options, io }) => {
  const { config, people } = context;
  const { claims: given, groups } = checkGranted(config, options);
  const claims = withName(username, given);
  if (findInFile(config, username) !== undefined || (await people.findByUsername(username)) !== undefined) {
    throw isTaken(username);
  }
  const passwordHash = await hashPassword(
    await readPassword(io, passwordContext(config, { username, claims })),
  );
  const id = newPersonId();
  if (!(await people.add({ id, username, passwordHash, groups, claims }))) throw isTaken(username);
  await context.changed('add', id);
  printDone(io, options, {
    value: { id, username, source: 'store', groups, claims },
    text: `${username} can sign in now: ${id}`,
  });
};

const setPassword: PersonVerb<VerbOptions> = async (context, typed, { options, io }) => {
  const person = await findStoredPerson(context, typed);
  const { id, username } = person;
  const password = await readPassword(io, passwordContext(context.config, person));
  const passwordHash = await hashPassword(password);
  const changed = await context.people.setPassword(id, passwordHash, context.nextSecond());
  if (changed === undefined) throw isGone(username);
  await context.account?.endVoid(id);
  await context.account?.tell(id, 'password_changed');
  await context.changed('password', id);
  printDone(io, options, {
    value: { id, username, valid_after: changed.validAfter },
    text: `${username} has a new password and is signed out everywhere`,
  });
};

const remove: PersonVerb<VerbOptions> = async (context, typed, { options, io }) => {
  const { id, username } = await findStoredPerson(context, typed);
  if (!(await context.people.remove(id))) throw isGone(username);
  await context.factors.remove(id);
  await context.account?.endVoid(id);
  await context.forget(id);
  await context.changed('delete', id);
  printDone(io, options, { value: { id, username, deleted: true }, text: `${username} is deleted` });
};

function isGone(username: string): CommandError {
  return new CommandError(`${username} was deleted meanwhile`);
}

async function hash({ username, config: file, json = false }: HashOptions, io: CliIo): Promise<void> {
  const context =
    file === undefined
      ? usualPasswordContext(username)
      : passwordContext(await readConfig(file, { readSecrets: false, writeKeys: false }), { username });
  const passwordHash = await hashPassword(await readPassword(io, context));
  const id = newPersonId();
  const name = JSON.stringify(username);
  const yaml = `- id: ${id}\n  username: ${name}\n  password_hash: ${passwordHash}\n  preferred_username: ${name}\n`;
  if (!json) io.stderr.write('For the users file, under users:\n');
  print(io, { json }, { value: { id, username, password_hash: passwordHash, yaml }, text: yaml });
}

const disable: PersonVerb<VerbOptions> = async (context, typed, { options, io }) => {
  // What was issued up to now stays void when the person comes back.
  const { id, username } = await endAll(context, typed, { disabled: true });
  await context.changed('disable', id);
  printDone(io, options, { value: { id, username, disabled: true }, text: `${username} is disabled` });
};

const signOut: PersonVerb<VerbOptions> = async (context, typed, { options, io }) => {
  const { id, username, validAfter } = await endAll(context, typed);
  await context.changed('sign-out', id);
  const value = { id, username, valid_after: validAfter };
  printDone(io, options, { value, text: `${username} is signed out everywhere` });
};

async function endAll(context: UserContext, typed: string, change: Partial<AccountState> = {}) {
  const { id, username } = await findPerson(context, typed);
  const { validAfter } = await context.states.update(id, (before) => ({
    ...change,
    validAfter: nextValidAfter(before.validAfter, context.nextSecond()),
  }));
  await context.account?.endVoid(id);
  await context.account?.tell(id, 'sessions_ended');
  return { id, username, validAfter };
}

async function list(context: UserContext, options: VerbOptions, io: CliIo): Promise<void> {
  const { config, states, people } = context;
  const onFault = (_id: string, { message }: Error) => io.stderr.write(`warning: ${message}\n`);
  const [stored, known, shadowed, factors] = await Promise.all([
    people.list(onFault),
    states.list(onFault),
    findShadowed(config.users, people),
    config.signIn && context.factors.list(onFault),
  ]);
  const everybody: readonly SourcedPerson[] = [
    ...config.users.map((user) => ({ ...user, source: 'file' as const, validAfter: 0 })),
    ...stored.map((person) => ({ ...person, source: 'store' as const })),
  ];
  const rows = everybody.map(({ id, username, source, disabled, passwordHash }) => ({
    id,
    username,
    source,
    disabled: disabled || known.get(id)?.disabled === true,
    invited: source === 'store' && passwordHash === undefined,
    // A person of the file has the same login name: this one can't sign in.
    shadowed: source === 'store' && shadowed.some(({ storeId }) => storeId === id),
    factors: factors && countFactors(factors.get(id)),
  }));
  const lines = rows.map(
    ({ id, username, source, disabled, invited, shadowed: isShadowed, factors: own }) => {
      const remarks = [
        source,
        disabled && 'disabled',
        invited && INVITED,
        isShadowed && 'shadowed by the file',
        ...factorRemarks(own),
      ];
      return `${[username, id, ...remarks.filter((one) => one !== false)].join('  ')}\n`;
    },
  );
  print(io, options, { value: rows, text: lines.join('') });
}
