// `postern keys compromise`: takes a leaked signing key out of use at once, on every node; the reserve key signs instead.
import type { Command } from 'commander';
import { activeKey } from '../keys/ring.ts';
import { compromiseKey } from '../keys/ring-actions.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { reportKeys, toIso, withKeys } from './keys.ts';

/** Adds the verb to the group `keys`. */
export function registerKeysCompromise(keys: Command, io: CliIo): void {
  addVerb(keys, 'compromise', 'take a leaked key out of use everywhere, now')
    .argument('<kid>', 'the key, as keys list shows it')
    .action((kid: string, options: VerbOptions) =>
      withKeys(options, async ({ keyStore, now }) => {
        const before = await keyStore.load();
        const ring = await compromiseKey(keyStore, kid, now);
        const changed = ring.generation !== before.generation;
        const active = activeKey(ring, now())?.kid;
        const cachedUntil = toIso(now() + keyStore.timing.cache * 1000);
        const value = {
          kid,
          changed,
          active,
          verifier_caches_end: cachedUntil,
          generation: ring.generation,
          keys: reportKeys(ring, now(), keyStore),
        };
        const text = changed
          ? `${kid} is out. Every node follows within 5 seconds; from then on ${active ?? 'no key'} signs, and tokens of ${kid} ` +
            `are refused here. APIs that verify offline may take them until their cache of the key set ends, ${cachedUntil} at the latest.\n`
          : `${kid} was out of use already.\n`;
        print(io, options, { value, text });
      }),
    );
}
