// `postern user invite`, `user reset` and `user enable`, for users who can't sign in. `invite` and `reset` print a one-time
// link.
import type { Command } from 'commander';
import { DAY } from '../config/notation.ts';
import * as acts from '../users/acts.ts';
import { type LinkPurpose, oneTimeLinkUrl } from '../users/one-time-links.ts';
import type { User } from '../users/user.ts';
import type { VerbOptions } from './configuration.ts';
import { CommandError, print, type CliIo } from './io.ts';
import { addNew, addNewVerb, type GrantedOptions, newUser } from './user-access.ts';
import {
  addChange,
  type Done,
  COMMAND_LINE,
  type LoadAdditions,
  type SendLink,
  type UserContext,
  withUsers,
} from './user-context.ts';

type LinkOptions = VerbOptions & Readonly<Record<string, unknown>>;
type InviteOptions = LinkOptions & GrantedOptions;

/** A feature can send links, with an option of its name. */
export function registerUserLinks(user: Command, io: CliIo, additions: LoadAdditions): void {
  const [[name, load] = []] = Object.entries(additions);
  const addSending = (verb: Command) =>
    name ? verb.option(`--${name}`, 'send the link by email instead of printing it') : verb;
  const senderOf = async (options: LinkOptions) =>
    options[name ?? ''] ? (await load?.())?.sendLink : undefined;
  const invited = addNewVerb(user, 'invite', 'add a user and print an invitation link');
  addSending(invited).action((typed: string, options: InviteOptions) =>
    withUsers(options, io, async (context) =>
      invite(context, typed, { options, io, send: await senderOf(options) }),
    ),
  );
  const reset = addChange(user, io, {
    name: 'reset',
    description: 'print a password reset link for a user in the store',
    isStored: true,
    // A user who was invited and has no password yet gets another invitation.
    act: async (context, found, options: LinkOptions) =>
      newLink(context, await senderOf(options))(found.hasPassword ? 'reset' : 'invite', found),
  });
  addSending(reset);
  addChange(user, io, {
    name: 'enable',
    description: 'allow a user to sign in again and clear failed attempts',
    act: enable,
  });
}

type Invited = Readonly<{ options: InviteOptions; io: CliIo; send: SendLink | undefined }>;

async function invite(context: UserContext, username: string, { options, io, send }: Invited): Promise<void> {
  const make = newLink(context, send);
  const user = await newUser(context, username, options);
  // Checks the address before anything is written.
  if (send) sendingOf(send, context, user);
  await addNew(context, user);
  const link = await make('invite', { ...user, validAfter: 0 });
  print(io, options, {
    value: { id: user.id, username, source: 'store', invited: true, ...link.value },
    text: `Added ${username}: ${user.id}\n${link.text}`,
  });
}

export function refuseDisabled({ config }: UserContext, { username, disabled }: User): void {
  if (!disabled) return;
  throw new CommandError(`${username} is disabled in ${config.usersFrom ?? 'a file'}: edit that file`);
}

async function enable(context: UserContext, user: User): Promise<Done> {
  const { id, username } = user;
  refuseDisabled(context, user);
  await acts.enable(context, COMMAND_LINE, id);
  return { value: { disabled: false }, text: `Enabled ${username}` };
}

/** Throws CommandError if the user has no verified email address. */
function sendingOf(send: SendLink, context: UserContext, user: Parameters<SendLink>[1]) {
  const sending = send(context, user);
  if (sending) return sending;
  throw new CommandError(`${user.username} has no verified email address: use postern user set`);
}

/** Throws CommandError if no link can be created, before any change. */
export function newLink(context: UserContext, send?: SendLink) {
  const { links } = context;
  if (links === undefined)
    throw new CommandError('links need a signing key: start the service once, then try again');

  return async function make(
    purpose: LinkPurpose,
    user: Pick<User, 'id' | 'username' | 'validAfter' | 'claims'>,
  ): Promise<Done> {
    const { id, username, validAfter } = user;
    const state = await context.states.get(id);
    if (state.disabled) {
      throw new CommandError(`${username} is disabled: run postern user enable first`);
    }
    if (send) {
      const done = await sendingOf(send, context, user)();
      acts.noteChange(context, COMMAND_LINE, id, purpose);
      return done;
    }
    const ends = { passwordSince: validAfter, stateSince: state.validAfter };
    const made = { purpose, accountId: id, ...ends };
    const token = await acts.makeLink(context, COMMAND_LINE, { links, link: made, seconds: DAY });
    const link = oneTimeLinkUrl(context.config.issuer, token);
    const end = new Date(context.storeNow() + DAY * 1000).toISOString();
    return { value: { link, expires_at: end }, text: `${link}\nThis link works once and expires at ${end}.` };
  };
}
