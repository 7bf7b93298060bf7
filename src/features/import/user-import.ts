// `postern user import`: adds users of another system to the store. All are checked before the first is written. Existing users keep
// their password, so an import may be repeated, and continues where it was interrupted.
import { setTimeout } from 'node:timers/promises';
import { ConfigError } from '../../config/config.ts';
import { ProblemList } from '../../config/problems.ts';
import { earlier } from '../../config/rules.ts';
import { STANDARD_CLAIMS } from '../../config/schema-user.ts';
import { phcFault } from '../../config/secret-strength.ts';
import { canonicalUsername, lookOf, usernameFault } from '../../config/text.ts';
import { quoted } from '../../config/yaml.ts';
import { MAX_COSTS } from '../../users/accounts.ts';
import { disable } from '../../users/acts.ts';
import { COSTS_KNOWN_MS } from '../../users/imported-costs.ts';
import { costOf } from '../../users/passwords.ts';
import { type StoredUsers, withName } from '../../users/stored-users.ts';
import type { User } from '../../users/user.ts';
import type { VerbOptions } from '../../cli/configuration.ts';
import { print, type CliIo } from '../../cli/io.ts';
import { type ListOptions, printList } from '../../cli/table.ts';
import { withProgress } from '../../cli/terminal.ts';
import { addNew, changeGranted, type Granted, judgeGranted, withClaims } from '../../cli/user-access.ts';
import {
  stayInBackground,
  newUserId,
  COMMAND_LINE,
  type SendLink,
  type UserContext,
} from '../../cli/user-context.ts';
import { newLink } from '../../cli/user-links.ts';
import { textOf } from './fields.ts';
import { OF_LIST, readUsers, type UserDraft, type UserFormat } from './users.ts';

export type ImportOptions = VerbOptions &
  ListOptions & { readonly from: UserFormat } & {
    readonly [option in 'dryRun' | 'update' | 'invite' | 'mail']?: boolean;
  };

/** The import of one user. `before`: the user in the store. */
type Step = Readonly<{ draft: UserDraft; before: User | undefined; granted: Granted; isChanged: boolean }>;

/** Throws ConfigError with every problem, before anything is written. */
export async function importUsers(
  context: UserContext,
  file: string,
  { options, io, send }: Readonly<{ options: ImportOptions; io: CliIo; send: SendLink | undefined }>,
): Promise<void> {
  const { config, storedUsers, importedCosts } = context;
  stayInBackground();
  const problems = new ProblemList();
  const { users } = await readUsers(options.from, file, problems);
  if (users.length + problems.list().length === 0)
    problems.add({ file, message: `has no users in the format ${options.from}` });
  const known = [...STANDARD_CLAIMS, ...Object.values(config.scopes).flatMap(({ claims }) => claims)];
  const unknown = unknownIn(options.from, users, [...known, ...OF_LIST]);
  if (unknown.length > 0) {
    const message = `has unknown columns: ${unknown.map(quoted).join(', ')}. Known are username, groups, disabled, password_hash, ${known.join(', ')}`;
    problems.add({ file, line: 1, message });
  }
  // Users of the configuration file aren't imported.
  const declared = new Set(config.users.map(({ username }) => canonicalUsername(username)));
  const drafts = users.filter(({ username }) => !declared.has(canonicalUsername(username)));
  const looking = lookUp(storedUsers, drafts);
  const { stored, costs } = await withProgress(io, 'Reading the users of the store', looking);
  const steps = judgeAll(context, { drafts, stored, known });
  const changed = steps.filter(({ before, isChanged }) => before && isChanged);
  for (const { draft } of options.update ? [] : changed)
    draft.report('the user exists: --update changes groups and claims');
  judgeMailed(context, steps, send);
  const ofFile = costsOf(config.users);
  const fault = costsFault([...ofFile, ...costs, ...(await importedCosts.get())]);
  if (fault !== undefined) problems.add({ file, message: fault });
  if (!problems.isEmpty) throw new ConfigError(problems.list());

  const added = steps.filter(({ before }) => !before).length;
  const updated = changed.length;
  const [unchanged, in_users_file] = [steps.length - added - updated, users.length - steps.length];
  const counts = { added, updated, unchanged, in_users_file };
  if (options.dryRun) return print(io, options, { value: counts });
  const invite = options.invite ? newLink(context, send) : undefined;
  // Checked again, because another import may run at the same time.
  const hasNew = await importedCosts.add(costs, (all) => {
    const late = costsFault([...ofFile, ...all]);
    if (late !== undefined) throw new ConfigError([{ file, message: late }]);
  });
  // A process that doesn't know the cost of a hash would reveal by its response time that the user exists.
  if (hasNew) await setTimeout(COSTS_KNOWN_MS);
  const rows = applyAll(context, steps, invite);
  // A narrow table would cut the links.
  const output = options.output === 'table' ? 'wide' : options.output;
  const listing = printList(io, { ...options, output }, { columns: columnsOf(send), rows });
  await withProgress(io, 'Importing users', listing);
  if (!options.json) print({ ...io, stdout: io.stderr }, {}, { value: counts });
}

/** Other files have attributes that aren't meant for Postern. */
const unknownIn = (from: UserFormat, users: readonly UserDraft[], known: readonly string[]) =>
  [...new Set(from === 'csv' ? users.flatMap(({ claims }) => Object.keys(claims)) : [])].filter(
    (name) => !known.includes(name),
  );

/** Resolves stored users with the name or address of a draft, and the costs of all hashes. Keeps little of other users in memory. */
async function lookUp(storedUsers: StoredUsers, drafts: readonly UserDraft[]) {
  const names = new Set(drafts.map(({ username }) => canonicalUsername(username)));
  const addresses = new Set(drafts.map(addressOf).filter(Boolean));
  const stored = new Map<string, User>();
  const costs = new Set(costsOf(drafts));
  for await (const users of storedUsers.pages()) {
    for (const cost of costsOf(users)) costs.add(cost);
    for (const user of users)
      if (names.has(canonicalUsername(user.username)) || addresses.has(addressOf(user)))
        stored.set(user.id, user);
  }
  return { stored: [...stored.values()], costs };
}

const addressOf = ({ claims }: Pick<User, 'claims'>) => lookOf(textOf(claims['email']));

/** Checks the costs of all hashes, including those of new passwords. */
function costsFault(costs: readonly string[]): string | undefined {
  const all = new Set([costOf(), ...costs]);
  if (all.size <= MAX_COSTS) return undefined;
  return `would bring password hashes of more than ${MAX_COSTS} costs, and each sign-in verifies one of each: ${[...all].join(', ')}. Remove the hashes of one cost, and invite these users`;
}

const costsOf = (users: readonly { readonly passwordHash: string | undefined }[]) =>
  users.flatMap(({ passwordHash: hash }) => (hash === undefined ? [] : costOf(hash)));

type Judged = Readonly<{ drafts: readonly UserDraft[]; stored: readonly User[]; known: readonly string[] }>;

function judgeAll({ config }: UserContext, { drafts, stored, known }: Judged): readonly Step[] {
  const byName = new Map(stored.map((user) => [canonicalUsername(user.username), user]));
  const names = new Map<string, UserDraft>();
  const owners = new Map<string, string>();
  for (const user of [...config.users, ...stored])
    earlier(owners, addressOf(user), canonicalUsername(user.username));
  /** Undefined groups, each reported once. */
  const said = new Set<string>();
  return drafts.map((draft) => {
    const { username, report } = draft;
    const name = canonicalUsername(username);
    const before = byName.get(name);
    const claim = Object.fromEntries(Object.entries(draft.claims).filter(([one]) => known.includes(one)));
    const { faults, ...given } = judgeGranted(config, { claim, group: draft.groups ?? [] });
    const granted = before
      ? {
          groups: draft.groups ? given.groups : before.groups,
          claims: withClaims(before.claims, given.claims),
        }
      : { groups: given.groups, claims: withName(username, given.claims) };
    const twin = earlier(names, name, draft);
    if (twin) report(`${quoted(name)} is already used at ${twin.place()}`);
    const address = lookOf(textOf(claim['email']));
    const owner = earlier(owners, address, name) ?? name;
    if (address !== '' && owner !== name) report(`the email address is already that of ${quoted(owner)}`);
    for (const one of [...ownFaults(draft), ...faults]) if (!said.has(one)) report(one);
    for (const one of faults) if (one.startsWith('unknown group ')) said.add(one);
    return { draft, before, granted, isChanged: !isSame(granted, before) };
  });
}

const columnsOf = (send?: SendLink) =>
  send ? (['username', 'id', 'mailed_to'] as const) : (['username', 'id', 'link', 'expires_at'] as const);

/** Also checks existing users, who may still need an invitation. */
function judgeMailed(context: UserContext, steps: readonly Step[], send: SendLink | undefined): void {
  for (const { draft, before, granted } of steps)
    if (!(before ?? draft).passwordHash && draft.disabled !== true)
      if (send && !send(context, { id: '', username: draft.username, ...granted }))
        draft.report('needs a verified email address');
}

const isSame = (granted: Granted, before: User | undefined) =>
  JSON.stringify(granted) === JSON.stringify({ groups: before?.groups, claims: before?.claims });

function ownFaults({ username, passwordHash, disabled }: UserDraft): readonly string[] {
  const fault = usernameFault(username);
  const ofHash = passwordHash && phcFault(passwordHash);
  return [
    ...(fault ? [`the username ${fault}`] : []),
    ...(ofHash ? [`password_hash ${ofHash}`] : []),
    ...(typeof disabled === 'boolean' ? [] : ['disabled must be true or false']),
  ];
}

type Invite = ReturnType<typeof newLink> | undefined;
/** A user without a password, and the link if one was requested. */
type Row = Readonly<{ username: string; id: string; link?: string; expires_at?: string; mailed_to?: string }>;

const AT_ONCE = 32;

async function* applyAll(context: UserContext, steps: readonly Step[], invite: Invite): AsyncGenerator<Row> {
  for (let at = 0; at < steps.length; at += AT_ONCE) {
    const ids = await Promise.all(steps.slice(at, at + AT_ONCE).map((step) => applyOne(context, step)));
    for (const [index, id] of ids.entries()) {
      const step = steps[at + index];
      if (step && !(step.before ?? step.draft).passwordHash) yield* inviteOne(context, step, { id, invite });
    }
  }
}

async function applyOne(context: UserContext, { draft, before, granted, isChanged }: Step): Promise<string> {
  const { username, passwordHash, disabled } = draft;
  const id = before?.id ?? newUserId();
  // First, so that an interruption leaves no disabled user enabled.
  if (disabled === true && !before) await disable(context, COMMAND_LINE, id);
  if (!before) await addNew(context, { id, username, passwordHash, ...granted });
  else if (isChanged) await changeGranted(context, before, () => granted);
  return id;
}

async function* inviteOne(
  { states, links }: UserContext,
  { before, draft: { username }, granted }: Step,
  { id, invite }: Readonly<{ id: string; invite: Invite }>,
): AsyncGenerator<Row> {
  const { disabled, hasFactors } = await states.get(id);
  if (disabled || hasFactors || (invite && (await links?.isOpen('invite', id)))) return;
  const link = await invite?.('invite', { id, username, ...granted, validAfter: before?.validAfter ?? 0 });
  yield { username, id, ...link?.value };
}
