// `postern keys list`: what each signing key is, what it becomes next, and when. Changes nothing.
import type { Command } from 'commander';
import { pepperNeedsRewrap } from '../keys/installation.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { reportKeys, withKeys, type KeyReport } from './keys.ts';

const NEEDS_REWRAP =
  'Something is sealed with another encryption key than the first one: see "postern keys rewrap".\n';

/** Adds the verb to the group `keys`. */
export function registerKeysList(keys: Command, io: CliIo): void {
  addVerb(keys, 'list', 'what each signing key is, what it becomes next, and when').action(
    (options: VerbOptions) =>
      withKeys(options, async ({ keyStore, now, vault, documents }) => {
        const ring = await keyStore.load();
        const report = reportKeys(ring, now(), keyStore);
        const needsRewrap = (await keyStore.needsRewrap()) || (await pepperNeedsRewrap(documents, vault));
        const { generation } = ring;
        print(io, options, {
          value: { generation, encryption_key: vault.kekId, needs_rewrap: needsRewrap, keys: report },
          text: toTable(report),
        });
        if (needsRewrap && options.json !== true) io.stderr.write(`\n${NEEDS_REWRAP}`);
      }),
  );
}

function toTable(keys: readonly KeyReport[]): string {
  const rows = [
    ['KID', 'STATE', 'NEXT', 'AT'],
    ...keys.map(({ kid, state, next }) => [kid, state, next?.state ?? '-', next?.at ?? '-']),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`)
    .join('');
}
