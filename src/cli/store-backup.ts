// `postern store backup`: a consistent copy of the embedded store while the service runs. What
// else belongs in a backup, and what a restore brings back, is in docs/backup.md.
import path from 'node:path';
import type { Command } from 'commander';
import { withAdministration } from '../store/open-administration.ts';
import { addVerb, readConfig, type VerbOptions } from './configuration.ts';
import { printDone, CommandError, type CliIo } from './io.ts';

export function registerStoreBackup(store: Command, io: CliIo): void {
  addVerb(store, 'backup', 'copy the embedded store while the service runs')
    .argument('<folder>', 'where to; must not exist yet')
    .action(async (argument: string, options: VerbOptions) => {
      const folder = path.resolve(argument);
      const { store: from } = await readConfig(options.config);
      try {
        await withAdministration(from, async (administration) => {
          if (administration.backup === undefined)
            throw new CommandError('Redis has its own backup: copy its RDB or AOF file, see docs/backup.md');
          await administration.backup(folder);
        });
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
          throw new CommandError(`${folder} exists already: nothing is ever put over it`, { cause: error });
        }
        throw error;
      }
      printDone(io, options, { value: { folder }, text: `copied to ${folder}` });
    });
}
