// `postern keys rewrap`: after a change of the encryption keys, wraps everything that is sealed under the first one. Safe to
// end at any moment and to run again: each write leaves what can be read with the configured keys.
import type { Command } from 'commander';
import { rewrapPepper } from '../keys/installation.ts';
import { rewrapRing } from '../keys/ring-actions.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { counted, print, type CliIo } from './io.ts';
import { withKeys } from './keys.ts';

/** Adds the verb to the group `keys`. */
export function registerKeysRewrap(keys: Command, io: CliIo): void {
  addVerb(keys, 'rewrap', 'seal everything with the first encryption key').action((options: VerbOptions) =>
    withKeys(options, async ({ documents, keyStore, vault }) => {
      const count = await rewrapRing(keyStore, vault);
      const pepper = await rewrapPepper(documents, vault);
      print(io, options, {
        value: { encryption_key: vault.kekId, signing_keys: count, pepper },
        text:
          `${counted(count, 'signing key')}${pepper ? ' and the pepper' : ''} sealed anew. ` +
          `All is under the encryption key ${vault.kekId}: once every node has it first, the others can go.\n`,
      });
    }),
  );
}
