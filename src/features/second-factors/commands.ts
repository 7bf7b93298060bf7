// `postern user enrol` and `user factors`: an administrator gets a link for a user's first factor, lists a user's factors, and removes
// lost ones.
import type { Command } from 'commander';
import { type Factors, hasSecondFactor, orDamaged } from '../../users/factors.ts';
import { clearDamagedFactors, clearFactors, ONE_TIME_CODES } from './factor-acts.ts';
import { addVerb, type VerbOptions } from '../../cli/configuration.ts';
import { confirm, yesOption, type YesOption } from '../../cli/terminal.ts';
import { CommandError, type CliIo } from '../../cli/io.ts';
import { addListOptions, type ListOptions, printList } from '../../cli/table.ts';
import {
  addChange,
  type Done,
  findUser,
  COMMAND_LINE,
  type UserContext,
  withUsers,
} from '../../cli/user-context.ts';
import { newLink, refuseDisabled } from '../../cli/user-links.ts';
import type { User } from '../../users/user.ts';

const ALL = 'all';
const RECOVERY_CODES = 'recovery-codes';

type FactorsOptions = VerbOptions & ListOptions & YesOption & { readonly remove?: string };

/** Also accepts a user in the file, because their factors are in the store. */
async function enrol(context: UserContext, user: User): Promise<Done> {
  const { signIn } = context.config;
  if (signIn?.passkeys !== true && signIn?.oneTimeCodes !== true) {
    throw new CommandError('no second factor can be added: turn on passkeys or one_time_codes in sign_in');
  }
  refuseDisabled(context, user);
  const make = newLink(context);
  if (hasSecondFactor(await context.factors.get(user.id))) {
    throw new CommandError(
      `${user.username} already has a second factor and can add others with it. If it is lost, run postern user factors ${user.username} --remove all`,
    );
  }
  return make('factors', user);
}

export function registerUserFactors(verbs: Command, io: CliIo): void {
  addChange(verbs, io, {
    name: 'enrol',
    description: 'print a link for a user to set up their first passkey or second factor',
    act: enrol,
  });
  addListOptions(addVerb(verbs, 'factors', "list or remove a user's second factors"))
    .argument('<username>', 'username or ID (for a deleted user, the ID)')
    .option('--remove <what>', `${ALL}, ${ONE_TIME_CODES}, ${RECOVERY_CODES} or a passkey ID`)
    .addOption(yesOption())
    .action((typed: string, options: FactorsOptions) =>
      withUsers({ ...options, mustExist: true }, io, async (context) => {
        const { factors, accounts } = context;
        const own = await factors.get(typed).catch(orDamaged);
        const hasLeftovers = own === undefined || hasSecondFactor(own);
        const user = await (hasLeftovers ? accounts.lookUp(typed) : findUser(context, typed));
        const id = user?.id ?? typed;
        if (options.remove !== undefined) {
          await confirm(io, options, `Remove ${options.remove} of ${user?.username ?? id}?`);
          await remove(context, id, options.remove);
        }
        const left = await factors.get(id).catch(orDamaged);
        await printFactors(io, options, { username: user?.username, id, left });
      }),
    );
}

async function remove(context: UserContext, id: string, what: string): Promise<void> {
  const { factors } = context;
  const own = await factors.get(id).catch(orDamaged);
  if (own === undefined) {
    if (what !== ALL) throw new CommandError(`the stored factors of ${id} can't be read: use --remove all`);
    return clearDamagedFactors(context, COMMAND_LINE, id);
  }
  const ids = [...own.passkeys.map((one) => one.id), ...(own.oneTimeCode ? [ONE_TIME_CODES] : [])];
  const chosen = ids.filter((one) => what === ALL || one === what);
  const recoveryCodes = what === RECOVERY_CODES && own.recoveryCodes.length > 0;
  if (chosen.length === 0 && !recoveryCodes) {
    // Repairs the mark that a killed command may have left behind.
    await factors.mark(id);
    throw new CommandError(`nothing to remove: ${what}`);
  }
  await clearFactors(context, COMMAND_LINE, { accountId: id, factorIds: chosen, recoveryCodes });
}

type Left = Readonly<{ username: string | undefined; id: string; left: Factors | undefined }>;

function printFactors(io: CliIo, options: FactorsOptions, { username, id, left }: Left): Promise<void> {
  const found = toReport(left);
  const { passkeys, one_time_codes, recovery_codes } = found;
  const name = username ?? id;
  const rows = [
    ...passkeys.map((one) => ({ kind: 'passkey', ...one })),
    ...(one_time_codes ? [{ kind: 'authenticator app', id: ONE_TIME_CODES, ...one_time_codes }] : []),
    ...(recovery_codes > 0 ? [{ kind: 'recovery codes', id: RECOVERY_CODES, left: recovery_codes }] : []),
  ];
  const none =
    left === undefined
      ? `The stored factors of ${name} (${id}) can't be read. Run postern user factors ${id} --remove all.`
      : `${name} (${id}) has no second factor.`;
  return printList<Row>(io, options, {
    json: { username, id, ...found },
    rows,
    none,
    columns: [
      'id',
      'kind',
      'name',
      'left',
      { key: 'created_at', heading: 'CREATED', isTime: true },
      { key: 'used_at', heading: 'LAST USED', isTime: true },
      { key: 'suspect', colours: { true: 'red' } },
    ],
    wide: ['verifies_user', 'synced'],
  });
}

type Row = Readonly<{ kind: string; id: string; left?: number }> & Partial<Omit<Passkey, 'id'>>;
type Passkey = ReturnType<typeof toReport>['passkeys'][number];

function toReport(own: Factors | undefined) {
  // The user can't sign in until an administrator runs --remove all.
  if (own === undefined) return { damaged: true, passkeys: [], recovery_codes: 0 };
  return {
    passkeys: own.passkeys.map((one) => ({
      id: one.id,
      name: one.name,
      created_at: toIso(one.createdAt),
      used_at: one.usedAt && toIso(one.usedAt),
      verifies_user: one.verifiesUser,
      synced: one.synced,
      suspect: one.suspect === true,
    })),
    one_time_codes: own.oneTimeCode && { created_at: toIso(own.oneTimeCode.createdAt) },
    recovery_codes: own.recoveryCodes.length,
  };
}

const toIso = (seconds: number) => new Date(seconds * 1000).toISOString();
