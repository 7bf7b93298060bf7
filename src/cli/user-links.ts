// `postern user invite`, `user reset`, `user enrol` and `user enable`: what an operator does for a person who can't sign in. Each prints a
// one-time link, `enable` on request.
import { type Command, InvalidArgumentError } from 'commander';
import { DAY, formatDuration, MINUTE, parseDuration } from '../config/notation.ts';
import { usernameFault } from '../config/text.ts';
import { forgiven, hasSecondFactor } from '../users/factors.ts';
import { withName } from '../users/people.ts';
import { type LinkPurpose, oneTimeLinkUrl } from '../users/one-time-links.ts';
import { addVerb, checked, type VerbOptions } from './configuration.ts';
import { CommandError, printDone } from './io.ts';
import { addGrantedOptions, checkGranted, type GrantedOptions } from './user-access.ts';
import {
  findPerson,
  findStoredPerson,
  isTaken,
  lookUpPerson,
  newPersonId,
  type PersonVerb,
  type RunVerb,
  type SourcedPerson,
  type UserContext,
} from './user-people.ts';

const SHORTEST = 5 * MINUTE;
const LONGEST = 30 * DAY;

type LinkOptions = VerbOptions & { readonly expires?: number };
type InviteOptions = LinkOptions & GrantedOptions;
type EnableOptions = LinkOptions & { readonly link?: boolean };

export function registerUserLinks(user: Command, run: RunVerb): void {
  const invited = addVerb(user, 'invite', 'add a person who chooses a password, and print a link for that');
  invited.argument('<username>', 'what the person types to sign in', checked(usernameFault));
  addExpires(addGrantedOptions(invited)).action(run(invite));
  addExpires(
    addVerb(user, 'reset', 'print a link by which a person of the store chooses a new password').argument(
      '<username>',
    ),
  ).action(run(reset));
  addExpires(
    addVerb(
      user,
      'enrol',
      'print a link by which a person adds their first second factor or passkey',
    ).argument('<username>'),
  ).action(run(enrol));
  addExpires(
    addVerb(user, 'enable', 'let a person sign in again, and forget failed sign-ins')
      .argument('<username>')
      .option('--link', 'print a link, too, that makes the browser which follows it a trusted one'),
  ).action(run(enable));
}

function addExpires(verb: Command): Command {
  return verb.option(
    '--expires <duration>',
    'how long the link works, such as 1h or 7d; 24h without it',
    parseExpires,
  );
}

function parseExpires(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined && seconds >= SHORTEST && seconds <= LONGEST) return seconds;
  throw new InvalidArgumentError(
    `it must be a duration from ${formatDuration(SHORTEST)} to ${formatDuration(LONGEST)}`,
  );
}

const invite: PersonVerb<InviteOptions> = async (context, typed, { options, io }) => {
  const made = newLink(context, options);
  const before = await findInvited(context, typed, options);
  const person = before ?? (await addPerson(context, typed, options));
  const { id, username } = person;
  const link = await made('invite', person);
  const text = `${username} ${before ? 'is invited' : 'is added and invited'}: ${id}`;
  const value = { id, username, source: 'store', invited: true, ...link };
  printDone(io, options, { value, text: `${text}\n${toText(link)}` });
};

/** Who was invited before and has no password yet. Throws CommandError for everybody else that there is. */
async function findInvited(
  context: UserContext,
  typed: string,
  { claim, group }: GrantedOptions,
): Promise<SourcedPerson | undefined> {
  if ((await lookUpPerson(context, typed)) === undefined) return undefined;
  const person = await findStoredPerson(context, typed);
  if (person.passwordHash !== undefined) {
    throw new CommandError(`${person.username} has a password already: postern user reset`);
  }
  if (group.length > 0 || Object.keys(claim).length > 0) {
    throw new CommandError(
      `${person.username} is there already: change groups and claims with postern user set`,
    );
  }
  return person;
}

async function addPerson(
  context: UserContext,
  username: string,
  options: GrantedOptions,
): Promise<SourcedPerson> {
  const { claims: given, groups } = checkGranted(context.config, options);
  const claims = withName(username, given);
  const person = { id: newPersonId(), username, passwordHash: undefined, groups, claims };
  if (!(await context.people.add(person))) throw isTaken(username);
  await context.changed('add', person.id);
  return { ...person, disabled: false, source: 'store', validAfter: 0 };
}

const reset: PersonVerb<LinkOptions> = async (context, typed, { options, io }) => {
  const person = await findStoredPerson(context, typed);
  const { id, username } = person;
  if (person.passwordHash === undefined) {
    throw new CommandError(`${username} has no password yet: postern user invite`);
  }
  const link = await newLink(context, options)('reset', person);
  printDone(io, options, { value: { id, username, ...link }, text: toText(link) });
};

/** For a person of the file, too: their factors are in the store. */
const enrol: PersonVerb<LinkOptions> = async (context, typed, { options, io }) => {
  const { signIn } = context.config;
  if (signIn?.passkeys !== true && signIn?.oneTimeCodes !== true) {
    throw new CommandError('there is nothing to add: sign_in has neither passkeys nor one_time_codes');
  }
  const person = await findPerson(context, typed);
  const { id, username } = person;
  refuseDisabled(context, person);
  const made = newLink(context, options);
  if (hasSecondFactor(await context.factors.get(id))) {
    throw new CommandError(
      `${username} has a second factor, and adds others with it. If it is lost: postern user factors ${username} --remove all`,
    );
  }
  const link = await made('factors', person);
  printDone(io, options, { value: { id, username, ...link }, text: toText(link) });
};

function refuseDisabled({ config }: UserContext, { username, disabled }: SourcedPerson): void {
  if (!disabled) return;
  throw new CommandError(`${username} is disabled in ${config.usersFrom ?? 'a file'}: change that file`);
}

const enable: PersonVerb<EnableOptions> = async (context, typed, { options, io }) => {
  const person = await findPerson(context, typed);
  const { id, username } = person;
  refuseDisabled(context, person);
  if (options.expires !== undefined && options.link !== true) {
    throw new CommandError('--expires is about the link: add --link');
  }
  const made = options.link === true ? newLink(context, options) : undefined;
  await context.states.update(id, { disabled: false, attemptsSince: Date.now() });
  await context.factors.change(id, (own) => (own.oneTimeCode?.failures ? forgiven(own) : undefined));
  await context.changed('enable', id);
  const link = await made?.('trust', person);
  const text = `${username} is enabled`;
  printDone(io, options, {
    value: { id, username, disabled: false, ...link },
    text: link ? `${text}. For one browser:\n${toText(link)}` : text,
  });
};

const ACTIONS = { trust: 'link', invite: 'invite', reset: 'reset', factors: 'enrol' } as const;

type Printed = { readonly link: string; readonly expires_at: string };
const toText = ({ link, expires_at: end }: Printed) => `${link}\nIt works once, until ${end}.`;

/** Throws CommandError where no link can be made, before anything else is done. */
function newLink(context: UserContext, { expires = DAY }: LinkOptions) {
  const links = context.links();

  return async function make(
    purpose: LinkPurpose,
    { id, username, validAfter }: SourcedPerson,
  ): Promise<Printed> {
    const state = await context.states.get(id);
    if (state.disabled) {
      throw new CommandError(`${username} is disabled, and no link works: postern user enable`);
    }
    const ends = { passwordSince: validAfter, stateSince: state.validAfter };
    const token = await links.create({ purpose, accountId: id, ...ends }, expires);
    await context.changed(ACTIONS[purpose], id);
    const end = new Date(context.now() + expires * 1000).toISOString();
    return { link: oneTimeLinkUrl(context.config.issuer, token), expires_at: end };
  };
}
