// `postern user list`: who can sign in, and what they have.
import type { Command } from 'commander';
import { type Factors, NO_FACTORS } from '../users/factors.ts';
import { findShadowed } from '../users/changed-credentials.ts';
import { type User, userOfFile } from '../users/user.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { addListOptions, type ListOptions, printList } from './table.ts';
import { findUser, type UserContext, withUsers } from './user-context.ts';

export function registerList(user: Command, io: CliIo): void {
  addListOptions(addVerb(user, 'list', "list users, or show one user's groups and claims"))
    .argument('[username]', 'username or ID')
    .action((typed: string | undefined, options: VerbOptions & ListOptions) =>
      withUsers(
        options,
        async (context) => {
          const only = typed === undefined ? undefined : await findUser(context, typed);
          const rows = await list(context, io);
          const found = rows.find(({ id, source }) => id === only?.id && source === only.source);
          const { groups } = context.config;
          const value = only && {
            ...found,
            groups: only.groups,
            undefined_groups: only.groups.filter((name) => !Object.hasOwn(groups, name)),
            claims: only.claims,
          };
          if (value) return print(io, options, { value });
          await printList(io, options, {
            rows,
            columns: ['username', 'id', 'source', 'disabled', 'invited', 'shadowed', 'factors'],
          });
        },
        { mustExist: true },
      ),
    );
}

async function list({ config, states, storedUsers, factors }: UserContext, io: CliIo) {
  const onFault = (_id: string, { message }: Error) => io.stderr.write(`warning: ${message}\n`);
  const [stored, known, shadowed, own] = await Promise.all([
    storedUsers.list(onFault),
    states.list(onFault),
    findShadowed(config.users, storedUsers),
    config.signIn && factors.list(onFault),
  ]);
  const everybody: readonly User[] = [...config.users.map(userOfFile), ...stored];
  return everybody.map(({ id, username, source, disabled, hasPassword, canSetPassword }) => ({
    username,
    id,
    source,
    disabled: disabled || known.get(id)?.disabled === true,
    invited: canSetPassword && !hasPassword,
    // A user of the file has the same login name or id: this one can't sign in.
    shadowed: source === 'store' && shadowed.some(({ storeId }) => storeId === id),
    ...(own && { factors: countFactors(own.get(id)) }),
  }));
}

function countFactors({ passkeys, oneTimeCode, recoveryCodes }: Factors = NO_FACTORS) {
  return {
    passkeys: passkeys.length,
    one_time_codes: oneTimeCode !== undefined,
    recovery_codes: recoveryCodes.length,
  };
}
