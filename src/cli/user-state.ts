// `postern user list|disable|enable|sign-out`: what may change about a person while the service runs. Owns the verbs; the state
// itself is accounts/account-state.ts, and it binds the next request on every process.
import type { Command } from 'commander';
import { createAccountStates, type AccountStates } from '../accounts/account-state.ts';
import type { Config, User } from '../config/config.ts';
import { canonicalUsername } from '../config/username.ts';
import { openStore } from '../store/open.ts';
import { configOption, jsonOption, readConfig } from './configuration.ts';
import { Refused, type CliIo } from './io.ts';

type Options = { readonly config: string; readonly json?: boolean };

export function registerUserState(user: Command, io: CliIo): void {
  user
    .command('list')
    .description('who can sign in')
    .addOption(configOption())
    .addOption(jsonOption())
    .action((options: Options) => withStates(options, (config, states) => list(config, states, options, io)));

  for (const verb of ['disable', 'enable'] as const) {
    user
      .command(verb)
      .argument('<username>')
      .description(
        verb === 'disable' ? 'end all sessions and tokens of a person, now' : 'let a person sign in again',
      )
      .addOption(configOption())
      .addOption(jsonOption())
      .action((username: string, options: Options) =>
        withStates(options, async (config, states) => {
          const person = findPerson(config, username);
          await states.update(
            person.id,
            // What was issued up to now stays void when the person comes back.
            verb === 'disable' ? { disabled: true, validAfter: nextSecond() } : { disabled: false },
          );
          const line = `${person.username} is ${verb}d\n`;
          const result = { id: person.id, username: person.username, disabled: verb === 'disable' };
          io.stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : line);
        }),
      );
  }

  user
    .command('sign-out')
    .argument('<username>')
    .description('end all sessions and tokens of a person, now; they can sign in again')
    .addOption(configOption())
    .addOption(jsonOption())
    .action((username: string, options: Options) =>
      withStates(options, (config, states) => signOut({ config, states }, username, options, io)),
    );
}

async function signOut(
  { config, states }: { readonly config: Config; readonly states: AccountStates },
  username: string,
  { json }: Options,
  io: CliIo,
): Promise<void> {
  const person = findPerson(config, username);
  const validAfter = nextSecond();
  await states.update(person.id, { validAfter });
  const result = { id: person.id, username: person.username, valid_after: validAfter };
  io.stdout.write(
    json === true ? `${JSON.stringify(result)}\n` : `${person.username} is signed out everywhere\n`,
  );
}

/** What was issued in this very second is void too. */
function nextSecond(): number {
  return Math.floor(Date.now() / 1000) + 1;
}

async function withStates(
  { config: file }: Options,
  use: (config: Config, states: AccountStates) => Promise<void>,
): Promise<void> {
  const config = await readConfig(file);
  const store = await openStore(config.store, Date.now);
  try {
    await use(config, createAccountStates(store.documents));
  } finally {
    await store.close();
  }
}

function findPerson({ users }: Config, typed: string): User {
  const person = users.find(({ username }) => canonicalUsername(username) === canonicalUsername(typed));
  if (person === undefined)
    throw new Refused(`there is no person ${JSON.stringify(typed)} in the configuration`);
  return person;
}

async function list({ users }: Config, states: AccountStates, options: Options, io: CliIo): Promise<void> {
  const rows = await Promise.all(
    users.map(async ({ id, username, disabled }) => ({
      id,
      username,
      disabled: disabled || (await states.get(id)).disabled,
    })),
  );
  if (options.json === true) {
    io.stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  for (const { id, username, disabled } of rows) {
    io.stdout.write(`${username}  ${id}${disabled ? '  disabled' : ''}\n`);
  }
}
