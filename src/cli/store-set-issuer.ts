// `postern store set-issuer`: for an issuer that has a new name. A start on the store of another issuer is refused, because two of
// them would share keys and tokens.
import type { Command } from 'commander';
import type { CliIo } from './io.ts';
import { withKeys } from './keys.ts';
import { addStoreVerb, type StoreOptions } from './store.ts';

export function registerStoreSetIssuer(store: Command, { stdout }: CliIo): void {
  addStoreVerb(
    store,
    'set-issuer',
    'let the store belong to the issuer of the configuration from now on',
  ).action((options: StoreOptions) =>
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
        if (options.json === true) {
          stdout.write(`${JSON.stringify({ issuer, before: before ?? null }, undefined, 2)}\n`);
          return;
        }
        stdout.write(
          before === undefined || before === issuer
            ? `The store belongs to ${issuer}.\n`
            : `The store belongs to ${issuer} now. Nodes of ${before} sign nothing any more. APIs and apps must be given the new ` +
                'issuer; tokens of the old one are refused.\n',
        );
      },
      { anyIssuer: true },
    ),
  );
}
