// `postern user password` and `postern user delete`: both end all sessions and tokens of a person of the store.
import type { Command } from 'commander';
import { hashPassword } from '../users/passwords.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { printDone, CommandError, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { findStoredPerson, passwordContext, withPeople, type UserContext } from './user-people.ts';

/** Adds both verbs to the group `user`. */
export function registerUserPassword(user: Command, io: CliIo): void {
  addVerb(user, 'password', 'give a person of the store a new password, and end all sessions and tokens')
    .argument('<username>')
    .action((username: string, options: VerbOptions) =>
      withPeople(options, (context) => setPassword(context, username, options, io)),
    );
  addVerb(user, 'delete', 'delete a person of the store; the id is never used again')
    .argument('<username>')
    .action((username: string, options: VerbOptions) =>
      withPeople(options, async (context) => {
        const { id, username: name } = await findStoredPerson(context, username);
        if (!(await context.people.remove(id))) throw isGone(name);
        await context.changed('delete', id);
        printDone(io, options, { value: { id, username: name, deleted: true }, text: `${name} is deleted` });
      }),
    );
}

async function setPassword(
  context: UserContext,
  typed: string,
  options: VerbOptions,
  io: CliIo,
): Promise<void> {
  const { id, username } = await findStoredPerson(context, typed);
  const password = await readPassword(io, passwordContext(context.config, username));
  const passwordHash = await hashPassword(password);
  const changed = await context.people.setPassword(id, passwordHash, context.nextSecond());
  if (changed === undefined) throw isGone(username);
  await context.changed('password', id);
  printDone(io, options, {
    value: { id, username, valid_after: changed.validAfter },
    text: `${username} has a new password and is signed out everywhere`,
  });
}

function isGone(username: string): CommandError {
  return new CommandError(`${username} was deleted meanwhile`);
}
