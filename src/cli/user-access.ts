// `postern user set` and `user show`: the groups and claims of a person, and what they may use because of them.
import { type Command, InvalidArgumentError } from 'commander';
import { type AccessRules, createAccessRules, type Grouped } from '../config/access-rules.ts';
import type { Config, Resource } from '../config/config.ts';
import { claimsFault, parseClaims, STANDARD_CLAIMS } from '../config/schema-user.ts';
import { didYouMean } from '../config/wording.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { CommandError, print, printDone } from './io.ts';
import { toAccountLines } from './person-account.ts';
import { findPerson, findStoredPerson, INVITED, type PersonVerb, type RunVerb } from './user-people.ts';

type Claims = Readonly<Record<string, unknown>>;
export type GrantedOptions = { readonly claim: Claims; readonly group: readonly string[] };
type SetOptions = VerbOptions &
  GrantedOptions & { readonly removeClaim: readonly string[]; readonly removeGroup: readonly string[] };

const append = (text: string, before: readonly string[]) => [...before, text];

/** `--group` and `--claim`. */
export function addGrantedOptions(verb: Command): Command {
  return verb
    .option('--claim <name=value>', 'such as email=alice@example.com; as often as you like', addClaim, {})
    .option('--group <name>', 'a group of the file that the person is in; as often as you like', append, []);
}

export function registerUserAccess(user: Command, run: RunVerb): void {
  const set = addVerb(user, 'set', 'change groups and claims of a person of the store').argument(
    '<username>',
  );
  addGrantedOptions(set)
    .option('--remove-group <name>', 'a group that the person leaves; as often as you like', append, [])
    .option('--remove-claim <name>', 'a claim that goes; as often as you like', append, [])
    .action(run(setGranted));
  addVerb(user, 'show', 'say what a person may use, and why').argument('<username>').action(run(show));
}

function addClaim(text: string, before: Claims): Claims {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('it must be NAME=VALUE');
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  return { ...before, [name]: toClaim(name, value) };
}

/** Standard claims are text, but for two. A custom one is what it reads as in JSON, else text. */
function toClaim(name: string, value: string): unknown {
  if (name === 'email_verified' && (value === 'true' || value === 'false')) return value === 'true';
  if (name === 'updated_at' && /^\d{1,12}$/.test(value)) return Number(value);
  if (STANDARD_CLAIMS.includes(name)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** Throws CommandError for what the file doesn't define. */
export function checkGranted(
  { groups, scopes }: Pick<Config, 'groups' | 'scopes'>,
  { claim, group }: GrantedOptions,
): { readonly claims: Claims; readonly groups: readonly string[] } {
  const defined = Object.keys(groups);
  const custom = Object.values(scopes).flatMap(({ claims }) => claims);
  const parsed = parseClaims(claim, custom);
  const faults = [
    ...('faults' in parsed ? parsed.faults.map((fault) => `--claim ${fault}`) : []),
    ...group
      .filter((name) => !defined.includes(name))
      .map((name) => `--group ${name}: the file defines no such group${didYouMean(name, defined)}`),
  ];
  if ('faults' in parsed || faults.length > 0) throw new CommandError(faults.join('\n'));
  return { claims: assertFits(parsed.claims), groups: toGroups(group) };
}

function assertFits(claims: Claims): Claims {
  const fault = claimsFault(claims);
  if (fault !== undefined) throw new CommandError(fault);
  return claims;
}

const toGroups = (names: readonly string[]) => [...new Set(names)].toSorted();

const setGranted: PersonVerb<SetOptions> = async (context, typed, { options, io }) => {
  const before = await findStoredPerson(context, typed);
  const { id, username } = before;
  const added = checkGranted(context.config, options);
  const { removeClaim, removeGroup } = options;
  const changed = await context.people.setGranted(id, ({ groups, claims }) => ({
    groups: toGroups([...groups, ...added.groups]).filter((name) => !removeGroup.includes(name)),
    claims: assertFits(
      Object.fromEntries(
        Object.entries({ ...claims, ...added.claims }).filter(([name]) => !removeClaim.includes(name)),
      ),
    ),
  }));
  if (changed === undefined) throw new CommandError(`${username} was deleted meanwhile`);
  const rules = createAccessRules(context.config);
  for (const client of context.config.clients) {
    const isLost = rules.mayUseClient(before, client) && !rules.mayUseClient(changed, client);
    if (isLost) await context.account?.leave(id, client.clientId);
  }
  await context.changed('set', id);
  const { groups, claims } = changed;
  printDone(io, options, {
    value: { id, username, groups, claims },
    text: `${username} is in ${groups.length === 0 ? 'no group' : groups.join(', ')}`,
  });
};

const show: PersonVerb<VerbOptions> = async (context, typed, { options, io }) => {
  const { config } = context;
  const person = await findPerson(context, typed);
  const { id, username, source, groups, claims } = person;
  const state = await context.states.get(id);
  const disabled = person.disabled || state.disabled;
  const invited = person.source === 'store' && person.passwordHash === undefined;
  const unknown = groups.filter((name) => !Object.hasOwn(config.groups, name));
  const access = explainAccess(config, person);
  const account = await context.account?.describe(id);
  const lines = [
    [username, id, source, ...(disabled ? ['disabled'] : []), ...(invited ? [INVITED] : [])].join('  '),
    `groups: ${groups.filter((name) => !unknown.includes(name)).join(', ') || 'none'}`,
    ...unknown.map((name) => `        ${name} is not defined in the file, and gives nothing`),
    `claims: ${Object.keys(claims).join(', ') || 'none'}`,
    'apps:',
    ...toLines(access.apps),
    'APIs:',
    ...access.apis.flatMap((api) => [...toLines([api]), ...toLines(api.scopes).map((line) => `  ${line}`)]),
    ...(account ? toAccountLines(account) : []),
  ];
  const value = {
    id,
    username,
    source,
    disabled,
    invited,
    groups,
    undefined_groups: unknown,
    claims,
    ...access,
    account,
  };
  print(io, options, { value, text: `${lines.join('\n')}\n` });
};

function toLines(rules: readonly Explained[]): string[] {
  return rules.map(({ name, allowed, why }) => `  ${allowed ? 'yes' : 'no '}  ${name}: ${why}`);
}

type Explained = { readonly name: string; readonly allowed: boolean; readonly why: string };
type ExplainedApi = Explained & { readonly scopes: readonly Explained[] };

/** Of apps those that people sign in to; each API with the scopes that are for some people only. */
function explainAccess(config: Config, person: Grouped) {
  const rules = createAccessRules(config);
  return {
    apps: config.clients
      .filter(({ grantTypes }) => grantTypes.includes('authorization_code'))
      .map((client) => ({
        name: client.clientId,
        allowed: rules.mayUseClient(person, client),
        why: reasonOf(person, client.access?.groups),
      })),
    apis: config.resources.map((resource) => explainApi(rules, person, resource)),
  };
}

function explainApi(rules: AccessRules, person: Grouped, resource: Resource): ExplainedApi {
  const allowed = rules.mayUseResource(person, resource);
  return {
    name: resource.resource,
    allowed,
    why: reasonOf(person, resource.access?.groups),
    scopes: Object.entries(resource.scopeGroups).map(([scope, groups]) => ({
      name: scope,
      allowed: allowed && rules.scopesLeft(person, resource, [scope]).length > 0,
      why: reasonOf(person, groups),
    })),
  };
}

function reasonOf({ groups }: Grouped, names: readonly string[] | undefined): string {
  if (names === undefined) return 'for everybody';
  const own = names.filter((name) => groups.includes(name));
  return own.length > 0 ? `in ${own.join(', ')}` : `only for ${names.join(', ')}`;
}
