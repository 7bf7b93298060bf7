// `postern user password` and `postern user delete`: what ends everything of a person of the store. Owns the verbs.
import type { Command } from 'commander';
import { hashPassword } from '../users/passwords.ts';
import { Refused, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import {
  addUserVerb,
  findStoredPerson,
  passwordContext,
  printDone,
  withPeople,
  type UserContext,
  type UserOptions,
} from './user-people.ts';

/** Adds both verbs to the group `user`. */
export function registerUserPassword(user: Command, io: CliIo): void {
  addUserVerb(user, 'password', 'give a person of the store a new password, and end all sessions and tokens')
    .argument('<username>')
    .action((username: string, options: UserOptions) =>
      withPeople(options, (context) => setPassword(context, username, options, io)),
    );
  addUserVerb(user, 'delete', 'delete a person of the store; the id is never used again')
    .argument('<username>')
    .action((username: string, options: UserOptions) =>
      withPeople(options, async (context) => {
        const { id, username: name } = await findStoredPerson(context, username);
        if (!(await context.people.remove(id))) throw isGone(name);
        await context.changed('delete', id);
        printDone(io, options, `${name} is deleted`, { id, username: name, deleted: true });
      }),
    );
}

async function setPassword(
  context: UserContext,
  typed: string,
  options: UserOptions,
  io: CliIo,
): Promise<void> {
  const { id, username } = await findStoredPerson(context, typed);
  const password = await readPassword(io, passwordContext(context.config, username));
  const passwordHash = await hashPassword(password);
  const changed = await context.people.setPassword(id, passwordHash, context.nextSecond());
  if (changed === undefined) throw isGone(username);
  await context.changed('password', id);
  const line = `${username} has a new password and is signed out everywhere`;
  printDone(io, options, line, { id, username, valid_after: changed.validAfter });
}

function isGone(username: string): Refused {
  return new Refused(`${username} was deleted meanwhile`);
}
