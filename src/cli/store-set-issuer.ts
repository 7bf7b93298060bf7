// `postern store set-issuer`: for an issuer that has a new URL. A start on the store of another issuer is refused, because two of
// them would share keys and tokens.
import type { Command } from 'commander';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { withKeys } from './keys.ts';

export function registerStoreSetIssuer(store: Command, io: CliIo): void {
  addVerb(store, 'set-issuer', 'let the store belong to the issuer of the configuration from now on').action(
    (options: VerbOptions) =>
      withKeys(
        options,
        async ({ config: { issuer }, keyStore }) => {
          let before: string | undefined;
          await keyStore.update((ring) => {
            before = ring.installation?.issuer;
            // Where none is recorded, the next start does that.
            if (ring.installation === undefined || before === issuer) return ring;
            return { ...ring, installation: { ...ring.installation, issuer } };
          });
          const text =
            before === undefined || before === issuer
              ? `The store belongs to ${issuer}.\n`
              : `The store belongs to ${issuer} now. Nodes of ${before} sign nothing any more. APIs and apps must be given the new ` +
                'issuer; tokens of the old one are refused.\n';
          print(io, options, { value: { issuer, before: before ?? null }, text });
        },
        { anyIssuer: true },
      ),
  );
}
