// `postern keys list`: what each signing key is, what it becomes next, and when. Changes nothing.
import type { Command } from 'commander';
import { pepperNeedsRewrap } from '../keys/pepper.ts';
import type { CliIo } from './io.ts';
import { addKeysVerb, reportKeys, withKeys, type KeyReport, type KeysOptions } from './keys.ts';

const NEEDS_REWRAP =
  'Something is sealed with another encryption key than the first one: see "postern keys rewrap".\n';

/** Adds the verb to the group `keys`. */
export function registerKeysList(keys: Command, { stdout, stderr }: CliIo): void {
  addKeysVerb(keys, 'list', 'what each signing key is, what it becomes next, and when').action(
    (options: KeysOptions) =>
      withKeys(options, async ({ keyStore, now, vault, documents }) => {
        const ring = await keyStore.load();
        const report = reportKeys(ring, now(), keyStore);
        const needsRewrap = (await keyStore.needsRewrap()) || (await pepperNeedsRewrap(documents, vault));
        if (options.json === true) {
          const { generation } = ring;
          const result = {
            generation,
            encryption_key: vault.kekId,
            needs_rewrap: needsRewrap,
            keys: report,
          };
          stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
          return;
        }
        stdout.write(toTable(report));
        if (needsRewrap) stderr.write(`\n${NEEDS_REWRAP}`);
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
