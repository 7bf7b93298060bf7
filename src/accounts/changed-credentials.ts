// People whose password or state changed in the file since it was last looked at, while running or not: what they were
// given before is void. Owns the comparison; account-state.ts keeps what it remembers.
import type { User } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import type { AccountStates } from './account-state.ts';

/** Writes at once; a first start has one for everybody. */
const AT_ONCE = 50;

/** Throws StoreUnavailable. Safe to repeat, and on many nodes at once. */
export async function voidChangedCredentials(
  users: readonly User[],
  states: AccountStates,
  hash: KeyedHash,
  now: Clock,
): Promise<void> {
  const stored = await states.list();
  const changes = users.flatMap(({ id, passwordHash, disabled }) => {
    const credential = hash(`credential:${passwordHash}:${disabled}`);
    const known = stored.get(id)?.credential;
    if (known === credential) return [];
    // Tokens carry whole seconds: what was issued in this one is void, too.
    const validAfter = Math.floor(now() / 1000) + 1;
    return [{ id, change: known === undefined ? { credential } : { credential, validAfter } }];
  });
  for (let start = 0; start < changes.length; start += AT_ONCE) {
    const batch = changes.slice(start, start + AT_ONCE);
    await Promise.all(batch.map(({ id, change }) => states.update(id, change)));
  }
}
