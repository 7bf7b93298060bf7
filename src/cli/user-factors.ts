// `postern user factors` and `user enrol`: what people have besides a password, and the ways out for those who lost it.
import type { Command } from 'commander';
import { nextValidAfter } from '../users/account-state.ts';
import { type Factors, hasSecondFactor, NO_FACTORS, orDamaged } from '../users/factors.ts';
import { ONE_TIME_CODES, removeFactor } from '../users/remove-factor.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { CommandError, counted, print, type CliIo } from './io.ts';
import {
  findInFile,
  findPerson,
  lookUpPerson,
  type PersonVerb,
  type UserContext,
  withPeople,
} from './user-people.ts';

const ALL = 'all';
const RECOVERY_CODES = 'recovery-codes';
/** Of the id of a passkey, in a list for people. */
const SHOWN_SIGNS = 12;

type FactorsOptions = VerbOptions & { readonly remove?: string };
/** `username` undefined: nobody has this id any more. */
type Owner = { readonly id: string; readonly username: string | undefined };

export function registerUserFactors(user: Command, io: CliIo): void {
  addVerb(
    user,
    'factors',
    'what a person has besides a password; without a name, leftovers of people who are gone',
  )
    .argument('[username]', 'the login name, or the id')
    .option(
      '--remove <what>',
      `end one: ${ALL}, ${ONE_TIME_CODES}, ${RECOVERY_CODES}, or the id of a passkey or how it begins`,
    )
    .action((username: string | undefined, options: FactorsOptions) => {
      const verb = username === undefined ? leftovers : factorsOf;
      return withPeople(options, (context) => verb(context, username ?? '', { options, io }), {
        mustExist: true,
      });
    });
}

const factorsOf: PersonVerb<FactorsOptions> = async (context, typed, { options, io }) => {
  const owner = await findOwner(context, typed);
  if (options.remove !== undefined) await remove(context, owner.id, options.remove);
  const row = toRow(owner, await context.factors.get(owner.id).catch(orDamaged));
  print(io, options, { value: row, text: toText(row) });
};

/** A person, or an id of which something is left. Throws CommandError. */
async function findOwner(context: UserContext, typed: string): Promise<Owner> {
  const own = await context.factors.get(typed).catch(orDamaged);
  const hasLeftovers = own === undefined || hasSecondFactor(own);
  const person = hasLeftovers ? await lookUpPerson(context, typed) : await findPerson(context, typed);
  return person ?? { id: typed, username: undefined };
}

/** What is damaged may have been anything: sessions, tokens and links of before end with it. */
async function removeDamaged({ factors, states, nextSecond, account }: UserContext, id: string) {
  await states.update(id, (before) => ({ validAfter: nextValidAfter(before.validAfter, nextSecond()) }));
  await factors.remove(id);
  await account?.endVoid(id);
}

async function remove(context: UserContext, id: string, what: string): Promise<void> {
  const { changed, now, account, factors } = context;
  const own = await factors.get(id).catch(orDamaged);
  if (own === undefined) {
    if (what !== ALL) throw new CommandError(`what is stored of ${id} can't be read: --remove all`);
    await removeDamaged(context, id);
    return changed('factors', id);
  }
  const ids = [...own.passkeys.map((one) => one.id), ...(own.oneTimeCode ? [ONE_TIME_CODES] : [])];
  const isPart = (one: string) => what !== '' && one !== ONE_TIME_CODES && one.startsWith(what);
  const chosen = ids.filter((one) => what === ALL || one === what || isPart(one));
  const [only, another] = chosen;
  if (what !== ALL && another !== undefined)
    throw new CommandError(`more than one passkey begins with ${what}`);
  const endsCodes = what === RECOVERY_CODES && own.recoveryCodes.length > 0;
  if (only === undefined && !endsCodes) throw new CommandError(`there is nothing to remove: ${what}`);
  const at = Math.floor(now() / 1000);
  for (const factorId of chosen) await removeFactor(factors, undefined, { accountId: id, factorId, at });
  if (endsCodes) await factors.change(id, () => ({ recoveryCodes: [] }));
  await account?.tell(id, 'factor_removed');
  await changed('factors', id);
}

/** Those of the file whose entry is gone stay, and hold again when it comes back. */
const leftovers: PersonVerb<FactorsOptions> = async (context, _, { options, io }) => {
  if (options.remove !== undefined)
    throw new CommandError('--remove needs to know of whom: add the login name or the id');
  const damaged: string[] = [];
  const everybody = await context.factors.list((id) => damaged.push(id));
  const stored = new Set((await context.people.list()).map(({ id }) => id));
  const rows = [...everybody]
    .filter(
      ([id, own]) => hasSecondFactor(own) && !stored.has(id) && findInFile(context.config, id) === undefined,
    )
    .map(([id, own]) => toRow({ id, username: undefined }, own));
  for (const id of damaged)
    rows.push(toRow({ id, username: (await lookUpPerson(context, id))?.username }, undefined));
  print(io, options, { value: rows, text: rows.map(toText).join('') });
};

type Row = ReturnType<typeof toRow>;

function toRow({ id, username }: Owner, own: Factors | undefined) {
  const { passkeys, oneTimeCode, recoveryCodes } = own ?? NO_FACTORS;
  return {
    id,
    username,
    ...(own === undefined && { damaged: true }),
    passkeys: passkeys.map((one) => ({
      id: one.id,
      name: one.name,
      created_at: toIso(one.createdAt),
      used_at: one.usedAt === undefined ? undefined : toIso(one.usedAt),
      verifies_user: one.verifiesUser,
      synced: one.synced,
      suspect: one.suspect === true,
    })),
    one_time_codes: oneTimeCode && { created_at: toIso(oneTimeCode.createdAt) },
    recovery_codes: recoveryCodes.length,
  };
}

const toIso = (seconds: number) => new Date(seconds * 1000).toISOString();

function toText(row: Row): string {
  const { id, username, passkeys, one_time_codes: codes, recovery_codes: left } = row;
  const lines = [
    ...('damaged' in row
      ? [`can't be read, and sign-ins are refused: postern user factors ${id} --remove all`]
      : []),
    ...passkeys.map(({ id: passkey, name, created_at: since, suspect }) =>
      [
        `passkey ${passkey.slice(0, SHOWN_SIGNS)}`,
        JSON.stringify(name),
        `since ${since}`,
        ...(suspect ? ['refused, there may be a copy of it'] : []),
      ].join('  '),
    ),
    ...(codes ? [`one-time codes  since ${codes.created_at}`] : []),
    ...(left > 0 ? [`${counted(left, 'recovery code')} left`] : []),
  ];
  const who = username === undefined ? `${id}  nobody has this id` : `${username}  ${id}`;
  return `${[who, ...(lines.length > 0 ? lines : ['nothing besides a password'])].join('\n  ')}\n`;
}

export function countFactors({ passkeys, oneTimeCode, recoveryCodes }: Factors = NO_FACTORS) {
  return {
    passkeys: passkeys.length,
    one_time_codes: oneTimeCode !== undefined,
    recovery_codes: recoveryCodes.length,
  };
}

export function factorRemarks(counts: ReturnType<typeof countFactors> | undefined): readonly string[] {
  if (counts === undefined) return [];
  const { passkeys, one_time_codes: hasCodes, recovery_codes: left } = counts;
  return [
    ...(passkeys > 0 ? [counted(passkeys, 'passkey')] : []),
    ...(hasCodes ? ['one-time codes'] : []),
    ...(left > 0 ? [counted(left, 'recovery code')] : []),
  ];
}
