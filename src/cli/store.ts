// `postern store check` and `store stats`: what is wrong with the settings of the configured store, and what it holds. Nothing
// is changed, and no URL is printed.
import type { Command } from 'commander';
import type { ServerFindings, StoreStats } from '../store/administration.ts';
import { withAdministration } from '../store/open-administration.ts';
import { addVerb, readConfig, type VerbOptions } from './configuration.ts';
import { Ended, print, type CliIo } from './io.ts';

const REFUSED = 1;
const MEGABYTE = 1024 * 1024;

export function registerStoreCheck(store: Command, io: CliIo): void {
  addVerb(store, 'check', 'say what is wrong with the settings of the store').action(
    async (options: VerbOptions) => {
      const { store: location } = await readConfig(options.config);
      const servers = await withAdministration(location, (administration) => administration.findings());
      const ok = servers.every(({ faults }) => faults.length === 0);
      print(io, options, { value: { ok, servers }, text: toLines(servers) });
      if (!ok) throw new Ended(REFUSED);
    },
  );
}

export function registerStoreStats(store: Command, io: CliIo): void {
  addVerb(store, 'stats', 'count what the store holds, by kind').action(async (options: VerbOptions) => {
    const { store: location } = await readConfig(options.config);
    const { counts, bytes } = await withAdministration(location, (administration) => administration.stats());
    print(io, options, { value: { counts, bytes }, text: toTable({ counts, bytes }) });
  });
}

function toTable({ counts, bytes }: StoreStats): string {
  const rows = Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = [...rows, ['megabytes', (bytes / MEGABYTE).toFixed(1)] as const];
  return lines.map(([kind, count]) => `${kind.padEnd(24)}${count}\n`).join('');
}

function toLines(servers: readonly ServerFindings[]): string {
  const lines = servers.flatMap(({ server, faults, warnings }) => [
    ...faults.map((message) => `${server}: wrong: ${message}`),
    ...warnings.map((message) => `${server}: better: ${message}`),
    ...(faults.length + warnings.length === 0 ? [`${server}: all is well`] : []),
  ]);
  return `${lines.join('\n')}\n`;
}
