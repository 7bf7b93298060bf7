// `postern keys rewrap`: after a change of the encryption keys, wraps everything that is sealed under the first one. Safe to
// end at any moment and to run again: each write leaves what can be read with the configured keys.
import type { Command } from 'commander';
import { rewrapPepper } from '../keys/pepper.ts';
import { rewrapRing } from '../keys/ring-actions.ts';
import type { CliIo } from './io.ts';
import { addKeysVerb, withKeys, type KeysOptions } from './keys.ts';

/** Adds the verb to the group `keys`. */
export function registerKeysRewrap(keys: Command, { stdout }: CliIo): void {
  addKeysVerb(keys, 'rewrap', 'seal everything with the first encryption key').action(
    (options: KeysOptions) =>
      withKeys(options, async ({ documents, keyStore, vault }) => {
        const count = await rewrapRing(keyStore, vault);
        const pepper = await rewrapPepper(documents, vault);
        if (options.json === true) {
          const result = { encryption_key: vault.kekId, signing_keys: count, pepper };
          stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
          return;
        }
        stdout.write(
          `${count} signing ${count === 1 ? 'key' : 'keys'}${pepper ? ' and the pepper' : ''} sealed anew. ` +
            `All is under the encryption key ${vault.kekId}: once every node has it first, the others can go.\n`,
        );
      }),
  );
}
