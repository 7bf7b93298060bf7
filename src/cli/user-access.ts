// `postern user set`, and the options that give a user groups and claims.
import { type Command, InvalidArgumentError } from 'commander';
import { createAccessRules } from '../config/access-rules.ts';
import type { Config } from '../config/config.ts';
import { claimsFault, parseClaims, STANDARD_CLAIMS } from '../config/schema-user.ts';
import { usernameFault } from '../config/text.ts';
import { addUser, setGranted } from '../users/acts.ts';
import { type NewUser, withName } from '../users/stored-users.ts';
import { addVerb, checked, type VerbOptions } from './configuration.ts';
import { CommandError, type CliIo } from './io.ts';
import {
  addChange,
  type Done,
  goneError,
  newUserId,
  COMMAND_LINE,
  type UserContext,
} from './user-context.ts';
import type { User } from '../users/user.ts';

type Claims = Readonly<Record<string, unknown>>;
export type Granted = Readonly<{ groups: readonly string[]; claims: Claims }>;
export type GrantedOptions = Readonly<{ claim?: Claims; group?: readonly string[] }>;
type SetOptions = VerbOptions &
  GrantedOptions &
  Readonly<{ removeClaim?: readonly string[]; removeGroup?: readonly string[] }>;

const append = (text: string, before: readonly string[] = []) => [...before, text];

/** Adds `--group` and `--claim`. They have no defaults, because `--help` would print them. */
function addGrantedOptions(verb: Command): Command {
  return verb
    .option('--claim <name=value>', 'a claim, such as email=alice@example.com; repeatable', addClaim)
    .option('--group <name>', 'a group defined in the configuration; repeatable', append);
}

export const addNewVerb = (group: Command, name: string, description: string): Command =>
  addGrantedOptions(addVerb(group, name, description)).argument(
    '<username>',
    'the name the user signs in with',
    checked(usernameFault),
  );

export function registerSet(user: Command, io: CliIo): void {
  const description = 'change the groups and claims of a user in the store';
  addGrantedOptions(addChange(user, io, { name: 'set', description, isStored: true, act: change }))
    .option('--remove-group <name>', 'a group to remove; repeatable', append)
    .option('--remove-claim <name>', 'a claim to remove; repeatable', append);
}

function addClaim(text: string, before: Claims = {}): Claims {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be NAME=VALUE.');
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  return { ...before, [name]: toClaim(name, value) };
}

/** Standard claims are text, except for two. The value of a custom claim is JSON, or else text. */
export function toClaim(name: string, value: string): unknown {
  if (name === 'email_verified' && (value === 'true' || value === 'false')) return value === 'true';
  if (name === 'updated_at' && /^\d{1,12}$/.test(value)) return Number(value);
  if (STANDARD_CLAIMS.includes(name)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** Prepares a user without a password. Throws CommandError if the username is taken. */
export async function newUser(context: UserContext, username: string, options: GrantedOptions) {
  const { claims, groups } = checkGranted(context.config, options);
  if ((await context.accounts.lookUp(username)) !== undefined) throw takenError(username);
  const id = newUserId();
  return { id, username, passwordHash: undefined, groups, claims: withName(username, claims) };
}

/** Throws CommandError if the username was taken in the meantime. */
export async function addNew(context: UserContext, user: NewUser): Promise<void> {
  if (!(await addUser(context, COMMAND_LINE, user))) throw takenError(user.username);
}

const takenError = (username: string) => new CommandError(`user ${JSON.stringify(username)} already exists`);

/** Returns the groups and claims, and faults for those that the configuration doesn't define. */
export function judgeGranted(
  { groups, scopes }: Pick<Config, 'groups' | 'scopes'>,
  { claim = {}, group = [] }: GrantedOptions,
  [ofClaim, ofGroup] = ['', ''],
): Granted & { readonly faults: readonly string[] } {
  const defined = Object.keys(groups);
  const parsed = parseClaims(
    claim,
    Object.values(scopes).flatMap(({ claims }) => claims),
  );
  const faults = [
    ...parsed.faults.map((fault) => `${ofClaim}${fault}`),
    ...group
      .filter((name) => !defined.includes(name))
      .map(
        (name) => `${ofGroup}unknown group "${name}": the configuration has ${defined.join(', ') || 'none'}`,
      ),
  ];
  return { claims: parsed.claims, groups: toGroups(group), faults };
}

/** Throws CommandError for groups and claims that the configuration doesn't define. */
function checkGranted(config: Config, options: GrantedOptions): Granted {
  const { faults, claims, groups } = judgeGranted(config, options, ['--claim: ', '--group: ']);
  if (faults.length > 0) throw new CommandError(faults.join('\n'));
  return { claims: assertFits(claims), groups };
}

/** Removes `email_verified` with a new address: the old proof doesn't apply to it. */
export function withClaims(before: Claims, added: Claims): Claims {
  const isSameAddress = (added['email'] ?? before['email']) === before['email'];
  return { ...before, ...(isSameAddress ? {} : { email_verified: undefined }), ...added };
}

function assertFits(claims: Claims): Claims {
  const fault = claimsFault(claims);
  if (fault !== undefined) throw new CommandError(fault);
  return claims;
}

const toGroups = (names: readonly string[]) => [...new Set(names)].toSorted();

async function change(context: UserContext, before: User, options: SetOptions): Promise<Done> {
  const { username } = before;
  const added = checkGranted(context.config, options);
  const { removeClaim = [], removeGroup = [] } = options;
  const to = ({ groups, claims }: Granted): Granted => ({
    groups: toGroups([...groups, ...added.groups]).filter((name) => !removeGroup.includes(name)),
    claims: assertFits(
      Object.fromEntries(
        Object.entries(withClaims(claims, added.claims)).filter(([name]) => !removeClaim.includes(name)),
      ),
    ),
  });
  const { groups, claims } = await changeGranted(context, before, to);
  const hasGroups = added.groups.length + removeGroup.length > 0;
  return {
    value: { groups, claims },
    text: `Updated ${username}${hasGroups ? `: groups ${groups.join(', ') || 'none'}` : ''}`,
  };
}

/** Notifies apps that the user may no longer use. Throws CommandError if the user was deleted. */
export async function changeGranted(
  context: UserContext,
  before: User,
  to: (before: Granted) => Granted,
): Promise<User> {
  const rules = createAccessRules(context.config);
  const after = { ...before, ...to(before) };
  const left = context.config.clients
    .filter((client) => rules.mayUseClient(before, client) && !rules.mayUseClient(after, client))
    .map(({ clientId }) => clientId);
  const changed = await setGranted(context, COMMAND_LINE, before.id, { to, left });
  if (changed === undefined) throw goneError(before.username);
  return changed;
}
