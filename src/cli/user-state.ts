// `postern user list|disable|enable|sign-out`: what may change about a person while the service runs, wherever the person
// comes from. The state itself is in users/account-state.ts; it applies from the next request on, in every process.
import type { Command } from 'commander';
import { type AccountState, nextValidAfter } from '../users/account-state.ts';
import { findShadowed } from '../users/warnings.ts';
import { trustLinkUrl } from '../users/trust-links.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, printDone, CommandError, type CliIo } from './io.ts';
import { findPerson, withPeople, type SourcedPerson, type UserContext } from './user-people.ts';

type EnableOptions = VerbOptions & { readonly link?: boolean };

export function registerUserState(user: Command, io: CliIo): void {
  addVerb(user, 'list', 'who can sign in, and where they come from').action((options: VerbOptions) =>
    withPeople(options, (context) => list(context, options, io), { mustExist: true }),
  );

  addVerb(user, 'disable', 'end all sessions and tokens of a person, now')
    .argument('<username>')
    .action((username: string, options: VerbOptions) =>
      withPeople(options, async (context) => {
        // What was issued up to now stays void when the person comes back.
        const { person } = await endAll(context, username, { disabled: true });
        await context.changed('disable', person.id);
        printState(person, true, options, io);
      }),
    );

  addVerb(user, 'enable', 'let a person sign in again, and forget failed sign-ins')
    .argument('<username>')
    .option(
      '--link',
      'print a link, too, that makes the browser which follows it a trusted one (once, 24 hours)',
    )
    .action((username: string, options: EnableOptions) =>
      withPeople(options, async (context) => {
        const person = await findPerson(context, username);
        if (person.disabled) {
          throw new CommandError(
            `${person.username} is disabled in ${context.config.usersFrom ?? 'a file'}: change that file`,
          );
        }
        const links = options.link === true ? await context.trustLinks() : undefined;
        await context.states.update(person.id, { disabled: false, attemptsSince: Date.now() });
        await context.changed('enable', person.id);
        const token = await links?.create(person.id);
        if (token === undefined) return printState(person, false, options, io);
        await context.changed('link', person.id);
        const { id, username: name } = person;
        const link = trustLinkUrl(context.config.issuer, token);
        const text = `${name} is enabled. For one browser, within 24 hours:\n${link}`;
        return printDone(io, options, { value: { id, username: name, disabled: false, link }, text });
      }),
    );

  addVerb(user, 'sign-out', 'end all sessions and tokens of a person, now; they can sign in again')
    .argument('<username>')
    .action((username: string, options: VerbOptions) =>
      withPeople(options, async (context) => {
        const { person, validAfter } = await endAll(context, username);
        await context.changed('sign-out', person.id);
        const { id, username: name } = person;
        const value = { id, username: name, valid_after: validAfter };
        printDone(io, options, { value, text: `${name} is signed out everywhere` });
      }),
    );
}

async function endAll(
  context: UserContext,
  username: string,
  change: Partial<AccountState> = {},
): Promise<{ readonly person: SourcedPerson; readonly validAfter: number }> {
  const person = await findPerson(context, username);
  const { validAfter } = await context.states.update(person.id, (before) => ({
    ...change,
    validAfter: nextValidAfter(before.validAfter, context.nextSecond()),
  }));
  return { person, validAfter };
}

function printState(person: SourcedPerson, disabled: boolean, options: VerbOptions, io: CliIo): void {
  const { id, username } = person;
  const text = `${username} is ${disabled ? 'disabled' : 'enabled'}`;
  printDone(io, options, { value: { id, username, disabled }, text });
}

async function list({ config, states, people }: UserContext, options: VerbOptions, io: CliIo): Promise<void> {
  const [stored, known, shadowed] = await Promise.all([
    people.list(),
    states.list(),
    findShadowed(config.users, people),
  ]);
  const everybody: readonly SourcedPerson[] = [
    ...config.users.map((user) => ({ ...user, source: 'file' as const })),
    ...stored.map((person) => ({ ...person, source: 'store' as const })),
  ];
  const rows = everybody.map(({ id, username, source, disabled }) => ({
    id,
    username,
    source,
    disabled: disabled || known.get(id)?.disabled === true,
    // A person of the file has the same login name: this one can't sign in.
    shadowed: source === 'store' && shadowed.some(({ storeId }) => storeId === id),
  }));
  const lines = rows.map(({ id, username, source, disabled, shadowed: isShadowed }) => {
    const remarks = [source, disabled && 'disabled', isShadowed && 'shadowed by the file'];
    return `${[username, id, ...remarks.filter((one) => one !== false)].join('  ')}\n`;
  });
  print(io, options, { value: rows, text: lines.join('') });
}
