// Login names that both the file and the store have.
import type { UserEntry } from '../config/config.ts';
import { inBatches } from './changed-credentials.ts';
import type { StoredUsers } from './stored-users.ts';

/** A user of the store who can't sign in, because a user of the file has the same login name or id. */
type Shadowed = { readonly fileId: string; readonly storeId: string };

/**
 * The file wins: its keeper decides who may have a name. Asks the store for the users of the file alone: it may have many
 * more itself. Throws StoreUnavailable.
 */
export async function findShadowed(
  users: readonly UserEntry[],
  storedUsers: Pick<StoredUsers, 'findById' | 'findByUsername'>,
): Promise<readonly Shadowed[]> {
  const shadowed = new Map<string, Shadowed>();
  await inBatches(users, async ({ id: fileId, username }) => {
    for (const user of await Promise.all([
      storedUsers.findById(fileId),
      storedUsers.findByUsername(username),
    ])) {
      if (user !== undefined) shadowed.set(user.id, { fileId, storeId: user.id });
    }
  });
  return [...shadowed.values()];
}
