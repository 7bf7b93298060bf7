// Ends the sessions and tokens of people whose password or state changed in the file since it was last read, while the service
// ran or not. account-state.ts stores what is compared.
import type { User } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import { type AccountStates, nextValidAfter } from './account-state.ts';

/** People looked up at one time; a first start writes for everybody. */
const AT_ONCE = 50;

/**
 * Asks the store for the people of the file alone: it may know of many more. Throws StoreUnavailable. Safe to repeat, and on
 * many nodes at once. Resolves whose sessions and tokens it has ended.
 */
export async function voidChangedCredentials(
  users: readonly User[],
  states: Pick<AccountStates, 'update'>,
  hash: KeyedHash,
  now: Clock,
): Promise<readonly string[]> {
  const ended = new Set<string>();

  async function compare({ id, passwordHash, disabled }: User): Promise<void> {
    const credential = hash(`credential:${passwordHash}:${disabled}`);
    await states.update(id, ({ credential: known, validAfter }) => {
      ended.delete(id);
      if (known === credential) return undefined;
      if (known === undefined) return { credential };
      ended.add(id);
      // What is of an earlier version goes by whole seconds: what was issued in this one is void, too.
      return { credential, validAfter: nextValidAfter(validAfter, Math.floor(now() / 1000) + 1) };
    });
  }

  for (let start = 0; start < users.length; start += AT_ONCE) {
    await Promise.all(users.slice(start, start + AT_ONCE).map(compare));
  }
  return [...ended];
}

/** Who was of the file once, as far as the store knows. */
export async function findRemoved(
  users: readonly User[],
  states: Pick<AccountStates, 'list'>,
): Promise<readonly string[]> {
  const ids = new Set(users.map(({ id }) => id));
  const known = [...(await states.list())].filter(([, { credential }]) => credential !== undefined);
  return known.map(([id]) => id).filter((id) => !ids.has(id));
}
