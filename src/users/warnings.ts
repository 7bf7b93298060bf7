// Warnings about accounts: login names that both the file and the store have, and hashes below the policy. By id, because no
// login name goes to a log.
import type { User } from '../config/config.ts';
import type { Log } from '../observability/log.ts';
import { inBatches } from './changed-credentials.ts';
import { isWeakerThanPolicy } from './passwords.ts';
import type { People } from './people.ts';

/** In one line of the log. */
const MAX_LISTED = 10;

/** A person of the store who can't sign in, because a person of the file has the same login name or id. */
export type Shadowed = { readonly fileId: string; readonly storeId: string };

/**
 * The file wins: its keeper decides who may have a name. Asks the store for the people of the file alone: it may have many
 * more itself. Throws StoreUnavailable.
 */
export async function findShadowed(
  users: readonly User[],
  people: Pick<People, 'findById' | 'findByUsername'>,
): Promise<readonly Shadowed[]> {
  const shadowed = new Map<string, Shadowed>();
  await inBatches(users, async ({ id: fileId, username }) => {
    for (const person of await Promise.all([people.findById(fileId), people.findByUsername(username)])) {
      if (person !== undefined) shadowed.set(person.id, { fileId, storeId: person.id });
    }
  });
  return [...shadowed.values()];
}

export async function warnOfShadowed(
  users: readonly User[],
  people: Pick<People, 'findById' | 'findByUsername'>,
  log: Pick<Log, 'warn'>,
): Promise<readonly Shadowed[]> {
  const shadowed = await findShadowed(users, people);
  for (const ids of shadowed) {
    log.warn(ids, "a person of the file has the login name of one of the store, who can't sign in");
  }
  return shadowed;
}

/** Only an operator can renew the hash of a person of the file. */
export function warnOfWeakHashes(users: readonly User[], log: Pick<Log, 'warn'>): void {
  const ids = users
    .filter(({ passwordHash }) => passwordHash !== undefined && isWeakerThanPolicy(passwordHash))
    .map(({ id }) => id);
  if (ids.length === 0) return;
  const people = { people: ids.length, ids: ids.slice(0, MAX_LISTED) };
  log.warn(
    people,
    'password hashes in the file are weaker than the policy: make new ones with "postern user hash"',
  );
}
