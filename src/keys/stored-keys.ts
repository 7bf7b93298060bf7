// Whether a start with a configuration would accept the keys in its store, for commands that look before a start does.
import type { Config } from '../config/config.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import { findKeyFault } from './open-keys.ts';

/** `fault`: a start would be refused. `unknown`: the store could not be asked. Both undefined: nothing against it, or no store yet. */
export type KeyVerdict = { readonly fault?: string | undefined; readonly unknown?: string | undefined };

export async function judgeStoredKeys(config: Config): Promise<KeyVerdict> {
  if (!(await isStoreMade(config.store))) return {};
  try {
    return { fault: await withStore(config.store, (store) => findKeyFault(config, store)) };
  } catch (error) {
    return { unknown: error instanceof Error ? error.message : String(error) };
  }
}
