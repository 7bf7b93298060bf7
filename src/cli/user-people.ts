// Shared by the verbs of `postern user`: they work on the configured store directly, with and without a running
// service, and find people of both sources. People of a file are changed in the file, and only there.
import { randomBytes } from 'node:crypto';
import { createAccountStates, type AccountStates } from '../users/account-state.ts';
import type { PersonSource } from '../users/accounts.ts';
import { createFactorStore, type FactorStore } from '../users/factors.ts';
import type { PasswordContext } from '../users/password-rules.ts';
import { createPeople, type People, type Person } from '../users/people.ts';
import { createOneTimeLinks, type OneTimeLinks } from '../users/one-time-links.ts';
import type { AuditConfig, Config, User } from '../config/config.ts';
import { canonicalUsername } from '../config/username.ts';
import { openPepper } from '../keys/installation.ts';
import { KEYS_COLLECTION, PEPPER_ID } from '../keys/ring-document.ts';
import { Vault } from '../keys/vault.ts';
import { createKeyedHash, type KeyedHash } from '../store/keyed-hash.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { Clock, Store } from '../store/store.ts';
import { openTelemetry } from '../observability/telemetry.ts';
import { readService, type VerbOptions } from './configuration.ts';
import { CommandError, type CliIo } from './io.ts';
import { removePersonLists } from '../oidc/person-index.ts';
import { openPersonAccount, type PersonAccount } from './person-account.ts';

export type UserContext = {
  readonly config: Config;
  readonly states: AccountStates;
  readonly people: People;
  /** Of the store. */
  readonly now: Clock;
  /** Epoch seconds: what an earlier version issued in this second is void too. */
  readonly nextSecond: () => number;
  /** Throws CommandError before the first start, which creates the pepper of the hashes that links are stored under. */
  readonly links: () => OneTimeLinks;
  /** What people have besides a password. */
  readonly factors: FactorStore;
  /** The lists of what people have; undefined while nobody asks for them, and before the first start. */
  readonly account: PersonAccount | undefined;
  /** Removes those lists of a deleted person, also while nobody asks for them any more. */
  readonly forget: (accountId: string) => Promise<void>;
  /** Writes to the audit trail where that is a file; otherwise the verb's own output is the record. */
  readonly changed: (action: string, accountId: string) => Promise<void>;
};

export type PersonVerb<Options> = (
  context: UserContext,
  username: string,
  parts: { readonly options: Options; readonly io: CliIo },
) => Promise<void>;

/** Looks up the store for a verb. */
export type RunVerb = <Options extends VerbOptions>(
  verb: PersonVerb<Options>,
) => (username: string, options: Options) => Promise<void>;

export type SourcedPerson = Person & {
  readonly source: PersonSource;
  /** 0 for a person of the file. */
  readonly validAfter: number;
};

export async function withPeople(
  { config: file }: VerbOptions,
  use: (context: UserContext) => Promise<void>,
  { mustExist = false } = {},
): Promise<void> {
  const config = await readService(file, process);
  if (mustExist && !isStoreMade(config.store)) {
    throw new CommandError('there is no store yet: the first start of the service makes it');
  }
  await withStore(config.store, async (store) => {
    const { documents, records, clock } = store;
    const { now } = clock;
    const states = createAccountStates(documents);
    const hash = await hashOf(config, store);
    const factors = createFactorStore(documents, hash ?? nameless);
    await use({
      config,
      states,
      people: createPeople(documents),
      now,
      nextSecond: () => Math.floor(now() / 1000) + 1,
      links() {
        if (hash !== undefined)
          return createOneTimeLinks({ records, states, factors, hash, random: randomBytes, now });
        throw new CommandError(
          'a link needs a service that has been started once: start it, then repeat this',
        );
      },
      factors,
      account: hash && openPersonAccount(config, store, hash),
      forget: (accountId) => removePersonLists(documents, accountId),
      changed: (action, accountId) => recordChange(config.audit, action, accountId),
    });
  });
}

/** Undefined before the first start, which creates the pepper. */
async function hashOf({ encryptionKeys }: Config, { documents }: Store): Promise<KeyedHash | undefined> {
  const sealed = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  return sealed && createKeyedHash(openPepper(sealed.value, new Vault(encryptionKeys)));
}

/** Before the first start nobody has a factor, so that nothing is looked up by its hash. */
const nameless: KeyedHash = () => 'none';

async function recordChange(audit: AuditConfig, action: string, accountId: string): Promise<void> {
  if (audit.to !== 'file') return;
  const log = { level: 'silent', format: 'json' } as const;
  const telemetry = await openTelemetry({ log, audit });
  telemetry.audit.record('account_changed', 'success', { action, account_id: accountId });
  if (await telemetry.close()) return;
  throw new CommandError(`it is done, but its audit record could not be written to ${audit.file}`);
}

/** A remark on a person without a password. */
export const INVITED = 'invited, has no password yet';

export function isTaken(username: string): CommandError {
  return new CommandError(`there is a person ${JSON.stringify(username)} already`);
}

/** Random, so that no person gets the id of a deleted one. */
export function newPersonId(): string {
  return `usr_${randomBytes(16).toString('base64url')}`;
}

/** By login name, the file first as at a sign-in, or by id. */
export async function lookUpPerson(
  { config, people }: UserContext,
  typed: string,
): Promise<SourcedPerson | undefined> {
  const fromFile = findInFile(config, typed);
  if (fromFile !== undefined) return { ...fromFile, source: 'file', validAfter: 0 };
  const fromStore = (await people.findByUsername(typed)) ?? (await people.findById(typed));
  return fromStore && { ...fromStore, source: 'store' };
}

/** The same; throws CommandError where there is nobody. */
export async function findPerson(context: UserContext, typed: string): Promise<SourcedPerson> {
  const person = await lookUpPerson(context, typed);
  if (person !== undefined) return person;
  throw new CommandError(`there is no person ${JSON.stringify(typed)}`);
}

export function findInFile({ users }: Config, typed: string): User | undefined {
  const name = canonicalUsername(typed);
  return users.find(({ id, username }) => id === typed || canonicalUsername(username) === name);
}

/** The same, for what is only done to people of the store. Throws CommandError. */
export async function findStoredPerson(context: UserContext, typed: string): Promise<SourcedPerson> {
  const person = await findPerson(context, typed);
  if (person.source === 'store') return person;
  throw new CommandError(
    `${person.username} is in ${context.config.usersFrom ?? 'a file'}: change that file instead`,
  );
}

/** Where there is no configuration yet. */
export function usualPasswordContext(username: string): PasswordContext {
  return { minLength: 15, names: [username, 'Postern'] };
}
