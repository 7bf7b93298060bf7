// `postern store check` and `store stats`: what is wrong with the settings of the configured store, and what it holds. Owns how
// both are told; nothing is changed, and no URL is printed.
import type { Command } from 'commander';
import {
  openAdministration,
  type ServerFindings,
  type StoreAdministration,
} from '../store/administration.ts';
import { configOption, jsonOption, readConfig } from './configuration.ts';
import { Ended, type CliIo } from './io.ts';

export type StoreOptions = { readonly config: string; readonly json?: boolean };

const REFUSED = 1;
const MEGABYTE = 1024 * 1024;

/** `postern store NAME`, with the options that all of them have. */
export function addStoreVerb(store: Command, name: string, description: string): Command {
  return store.command(name).description(description).addOption(configOption()).addOption(jsonOption());
}

export function registerStoreCheck(store: Command, { stdout }: CliIo): void {
  addStoreVerb(store, 'check', 'say what is wrong with the settings of the store').action(
    (options: StoreOptions) =>
      withAdministration(options, async (administration) => {
        const servers = await administration.findings();
        const ok = servers.every(({ faults }) => faults.length === 0);
        stdout.write(
          options.json === true ? `${JSON.stringify({ ok, servers }, undefined, 2)}\n` : toLines(servers),
        );
        if (!ok) throw new Ended(REFUSED);
      }),
  );
}

export function registerStoreStats(store: Command, { stdout }: CliIo): void {
  addStoreVerb(store, 'stats', 'count what the store holds, by kind').action((options: StoreOptions) =>
    withAdministration(options, async (administration) => {
      const { counts, bytes } = await administration.stats();
      if (options.json === true) {
        stdout.write(`${JSON.stringify({ counts, bytes }, undefined, 2)}\n`);
        return;
      }
      const rows = Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1));
      for (const [kind, count] of rows) stdout.write(`${kind.padEnd(24)}${count}\n`);
      stdout.write(`${'megabytes'.padEnd(24)}${(bytes / MEGABYTE).toFixed(1)}\n`);
    }),
  );
}

async function withAdministration(
  { config: file }: StoreOptions,
  use: (administration: StoreAdministration) => Promise<void>,
): Promise<void> {
  const { store } = await readConfig(file);
  const administration = await openAdministration(store);
  try {
    await use(administration);
  } finally {
    await administration.close();
  }
}

function toLines(servers: readonly ServerFindings[]): string {
  const lines = servers.flatMap(({ server, faults, warnings }) => [
    ...faults.map((message) => `${server}: wrong: ${message}`),
    ...warnings.map((message) => `${server}: better: ${message}`),
    ...(faults.length + warnings.length === 0 ? [`${server}: all is well`] : []),
  ]);
  return `${lines.join('\n')}\n`;
}
