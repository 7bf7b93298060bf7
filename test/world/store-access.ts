// Changes that an administrator makes to a user of a running world, as the command line makes them.
import { type AccountState, createAccountStates } from '../../src/users/account-state.ts';
import type { OpenWorld } from './world.ts';

export async function changeAccount(
  { openedStore }: Pick<OpenWorld, 'openedStore'>,
  accountId: string,
  change: Partial<AccountState>,
): Promise<void> {
  await createAccountStates(openedStore.documents).update(accountId, change);
}
