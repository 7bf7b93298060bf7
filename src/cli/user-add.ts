// `postern user add`: a new person in the store. When several commands want one login name at once, exactly one gets it.
import { InvalidArgumentError, type Command } from 'commander';
import { hashPassword } from '../users/passwords.ts';
import { parseClaims } from '../config/schema-user.ts';
import { labelFault } from '../config/text.ts';
import { addVerb, checked, type VerbOptions } from './configuration.ts';
import { printDone, CommandError, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { findInFile, newPersonId, passwordContext, withPeople, type UserContext } from './user-people.ts';

type AddOptions = VerbOptions & { readonly claim: Readonly<Record<string, unknown>> };

/** Adds the verb to the group `user`. */
export function registerUserAdd(user: Command, io: CliIo): void {
  addVerb(user, 'add', 'add a person to the store (password typed, or from stdin)')
    .argument('<username>', 'what the person types to sign in', checked(labelFault))
    .option('--claim <name=value>', 'such as email=alice@example.com; as often as you like', addClaim, {})
    .action((username: string, options: AddOptions) =>
      withPeople(options, (context) => add(context, username, options, io)),
    );
}

async function add(context: UserContext, username: string, options: AddOptions, io: CliIo): Promise<void> {
  const { config, people } = context;
  const parsed = parseClaims(options.claim);
  if ('faults' in parsed) throw new CommandError(parsed.faults.map((fault) => `--claim ${fault}`).join('\n'));
  const taken = () => new CommandError(`there is a person ${JSON.stringify(username)} already`);
  if (findInFile(config, username) !== undefined || (await people.findByUsername(username)) !== undefined) {
    throw taken();
  }
  const passwordHash = await hashPassword(await readPassword(io, passwordContext(config, username)));
  const id = newPersonId();
  const { claims } = parsed;
  if (!(await people.add({ id, username, passwordHash, claims }))) throw taken();
  await context.changed('add', id);
  printDone(io, options, {
    value: { id, username, source: 'store', claims },
    text: `${username} can sign in now: ${id}`,
  });
}

function addClaim(text: string, before: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('it must be NAME=VALUE');
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  return { ...before, [name]: toClaim(name, value) };
}

/** All but these two are text. */
function toClaim(name: string, value: string): unknown {
  if (name === 'email_verified' && (value === 'true' || value === 'false')) return value === 'true';
  return name === 'updated_at' && /^\d{1,12}$/.test(value) ? Number(value) : value;
}
