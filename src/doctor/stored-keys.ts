// What the keys in the configured store have against a configuration: for commands that look before somebody starts with it.
import type { Config } from '../config/config.ts';
import { findKeyFault } from '../keys/open-keys.ts';
import { isStoreMade, openStore } from '../store/open.ts';

/** `fault`: a start would be refused. `unknown`: the store could not be asked. Both undefined: nothing against it, or no store yet. */
export type KeyVerdict = { readonly fault?: string | undefined; readonly unknown?: string | undefined };

export async function judgeStoredKeys(config: Config): Promise<KeyVerdict> {
  if (!(await isStoreMade(config.store))) return {};
  try {
    const store = await openStore(config.store);
    try {
      return { fault: await findKeyFault(config, store) };
    } finally {
      await store.close();
    }
  } catch (error) {
    return { unknown: error instanceof Error ? error.message : String(error) };
  }
}
