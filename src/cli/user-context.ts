// Shared by the verbs of `postern user`: they work on the configured store directly, with and without a running
// service, and find users in the file and the store. Users in a file can be changed only in the file.
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import type { AuditConfig, Config } from '../config/config.ts';
import { lowerThreadPriority } from '../config/threads.ts';
import { notifiesUsers } from '../features/index.ts';
import { openPepper } from '../keys/installation.ts';
import { KEYS_COLLECTION, PEPPER_ID } from '../keys/ring-document.ts';
import { Vault } from '../keys/vault.ts';
import type { Audit } from '../observability/audit.ts';
import type { OpenTelemetry } from '../observability/telemetry.ts';
import { createKeyedHash, noHash } from '../store/keyed-hash.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import type { Actor } from '../users/acts.ts';
import { createOneTimeLinks } from '../users/one-time-links.ts';
import { createAccounts, openUsers } from '../users/accounts.ts';
import { createUserEvents } from '../users/user-events.ts';
import { createUserIndex } from '../users/user-index.ts';
import type { User } from '../users/user.ts';
import { confirm, yesOption, type YesOption } from './terminal.ts';
import { addVerb, readService, type VerbOptions } from './configuration.ts';
import { CommandError, print, type CliIo } from './io.ts';

export type UserContext = Awaited<ReturnType<typeof openContext>>;

export const COMMAND_LINE: Actor = { by: 'command_line' };

export async function withUsers(
  { config: file, mustExist = false }: VerbOptions & { readonly mustExist?: boolean },
  io: CliIo,
  use: (context: UserContext) => Promise<void>,
): Promise<void> {
  const config = await readService(file, io);
  if (mustExist && !isStoreMade(config.store)) {
    throw new CommandError('there is no store yet: start the service once to create it');
  }
  await withStore(config.store, async (store) => {
    const audit = await openAudit(config.audit);
    try {
      await use(await openContext(config, store, audit));
    } finally {
      await audit.close();
    }
  });
}

/** For verbs that read all users: sign-ins come first, and V8 would take up to 110 MB for the garbage of the pages. */
export function stayInBackground(): void {
  lowerThreadPriority();
  setFlagsFromString('--semi-space-growth-factor=1');
}

async function openContext(config: Config, store: Store, audit: Audit) {
  const { documents, records, clock } = store;
  const { now } = clock;
  // Absent before the first start, when there are no links, factors or sessions.
  const pepper = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  const hash = pepper && createKeyedHash(openPepper(pepper.value, new Vault(config.encryptionKeys)));
  const users = openUsers(store, hash ?? noHash);
  const { states, factors } = users;
  const accounts = createAccounts({ config, ...users });
  return {
    config,
    store,
    accounts,
    ...users,
    userEvents: createUserEvents(documents, now),
    audit,
    activity: config.account ? createUserIndex(documents, () => Math.floor(now() / 1000)) : undefined,
    notifiesUsers: notifiesUsers(config),
    storeNow: now,
    /** One-time links; undefined before the first start. */
    links: hash && createOneTimeLinks({ records, states, factors, hash, now }),
  };
}

/** Opens the audit trail if it is a file; otherwise the verb's own output is the record. */
async function openAudit(audit: AuditConfig): Promise<Audit & { readonly close: () => Promise<void> }> {
  if (audit.to !== 'file') return { record: () => undefined, close: async () => undefined };
  // Imported on demand, because its metrics take a fifth of the CPU of a list.
  const { openTelemetry } = await import('../observability/telemetry.ts');
  let opened: OpenTelemetry | undefined;
  return {
    record(...fields) {
      opened ??= openTelemetry({ log: { level: 'silent' }, audit });
      opened.audit.record(...fields);
    },
    async close() {
      if (opened === undefined || (await opened.close())) return;
      throw new CommandError(
        `the change was made, but its audit record could not be written to ${audit.file}`,
      );
    },
  };
}

/** `value` is for programs, `text` for users. */
export type Done = Readonly<{ value: object; text: string }>;

/** Returns undefined if the user can't get a link. The result sends it when called. */
export type SendLink = (
  context: UserContext,
  user: Pick<User, 'id' | 'username' | 'claims'>,
) => (() => Promise<Done>) | undefined;

/** Loads what a feature adds to commands. `probeServer`: for `doctor`, undefined if the feature is off. */
export type LoadAdditions = Readonly<Record<string, () => Promise<Additions>>>;
type Additions = Readonly<{
  sendLink: SendLink;
  detailsOf: (context: UserContext, user: User) => Promise<object>;
  probeServer: (
    config: Config,
  ) => Promise<Readonly<{ level: 'ok' | 'problem'; message: string; advice?: string }> | undefined>;
}>;

type Change = Readonly<{
  name: string;
  description: string;
  /** Only for users in the store. */
  isStored?: boolean;
  /** The confirmation for an act that can't be undone. */
  question?: (user: User) => string;
  /** `options` has the type of the verb's own options. */
  act: (context: UserContext, user: User, options: never) => Promise<Done>;
}>;

/** Adds a verb that finds a user, does something to them (users/acts.ts), and prints it. */
export function addChange(
  group: Command,
  io: CliIo,
  { name, description, isStored = false, question, act }: Change,
): Command {
  const verb = addVerb(group, name, description).argument('<username>', 'username or ID');
  return (question ? verb.addOption(yesOption()) : verb).action(
    (typed: string, options: VerbOptions & YesOption) =>
      withUsers(options, io, async (context) => {
        const user = await (isStored ? findStoredUser : findUser)(context, typed);
        const { id, username } = user;
        if (question) await confirm(io, options, question(user));
        const { value, text } = await act(context, user, options as never);
        print(io, options, { value: { id, username, ...value }, text });
      }),
  );
}

export const goneError = (username: string): CommandError =>
  new CommandError(`${username} was deleted in the meantime`);

/** Random, so that no user gets the id of a deleted one. */
export const newUserId = () => `usr_${randomBytes(16).toString('base64url')}`;

/** `typed`: a username or an ID. Throws CommandError if there is no such user. */
export async function findUser({ accounts }: UserContext, typed: string): Promise<User> {
  const user = await accounts.lookUp(typed);
  if (user !== undefined) return user;
  throw new CommandError(`there is no user ${JSON.stringify(typed)}: see "postern user list"`);
}

/** Throws CommandError for a user in the file, too. */
async function findStoredUser(context: UserContext, typed: string): Promise<User> {
  const user = await findUser(context, typed);
  if (user.source === 'store') return user;
  throw new CommandError(
    `${user.username} is defined in ${context.config.usersFrom ?? 'a file'}: edit that file instead`,
  );
}
