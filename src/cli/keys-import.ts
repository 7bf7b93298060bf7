// `postern keys import`: an existing private key becomes the next to sign, under its own kid. The key comes by reference:
// other users of the machine can read a command line.
import type { Command } from 'commander';
import { resolveArgument } from '../config/secret-reference.ts';
import { importKey } from '../keys/generate-key.ts';
import { importNextKey } from '../keys/ring-actions.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, CommandError, type CliIo } from './io.ts';
import { reportKeys, withKeys } from './keys.ts';

/** Adds the verb to the group `keys`. */
export function registerKeysImport(keys: Command, io: CliIo): void {
  const verb = addVerb(keys, 'import', 'make an existing private key the next to sign').argument(
    '<reference>',
    'file:PATH or env:NAME of an RSA private key, as PEM or as JWK',
  );
  verb.action(async (reference: string, options: VerbOptions) => {
    // Not repeated in the message: what isn't a reference may be the key itself.
    if (!/^(file|env):/.test(reference)) verb.error('error: the key must be given as file:PATH or env:NAME');
    const resolved = await resolveArgument(reference);
    if (resolved.kind === 'fault') throw new CommandError(resolved.message);
    const material = await importKey(resolved.value);
    await withKeys(options, async ({ keyStore, now }) => {
      const ring = await importNextKey(keyStore, material, now);
      const report = reportKeys(ring, now(), keyStore);
      const next = report.find(({ kid }) => kid === material.kid)?.next;
      print(io, options, {
        value: { kid: material.kid, generation: ring.generation, keys: report },
        text: `${material.kid} is published, and signs from ${next?.at ?? 'the next rotation'} on.\n`,
      });
    });
  });
}
