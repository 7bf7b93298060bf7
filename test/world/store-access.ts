// What an operator does to a person of a running world, as the command line does it.
import { type AccountState, createAccountStates } from '../../src/users/account-state.ts';
import type { OpenWorld } from './world.ts';

export async function changeAccount(
  { openedStore }: Pick<OpenWorld, 'openedStore'>,
  accountId: string,
  change: Partial<AccountState>,
): Promise<void> {
  await createAccountStates(openedStore.documents).update(accountId, change);
}
