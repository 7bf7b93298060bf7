// The store of a running world, opened once more beside it, as a second process of the same installation would.
import path from 'node:path';
import { type AccountState, createAccountStates } from '../../src/accounts/account-state.ts';
import type { StoreConfig } from '../../src/config/config.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { World } from './world.ts';

/** `redisUrl` where the world's store is a Redis. */
export async function withStore<Result>(
  world: World,
  use: (store: Store) => Promise<Result>,
  redisUrl?: string,
): Promise<Result> {
  const location: StoreConfig =
    redisUrl === undefined
      ? { engine: 'lmdb', folder: path.join(world.folder, 'data') }
      : { engine: 'redis', url: redisUrl };
  const store = await openStore(location, Date.now);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** What an operator does to a person while the service runs. */
export async function changeAccount(
  world: World,
  accountId: string,
  change: Partial<AccountState>,
): Promise<void> {
  await withStore(world, (store) => createAccountStates(store.documents).update(accountId, change));
}
