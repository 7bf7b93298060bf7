// `postern store backup`: a copy of the embedded store, whole and of one moment, while the service runs. Owns the refusals; what
// else belongs into a backup, and what a restore brings back, is said in docs/backup.md.
import path from 'node:path';
import type { Command } from 'commander';
import { openAdministration } from '../store/administration.ts';
import { readConfig } from './configuration.ts';
import { Refused, type CliIo } from './io.ts';
import { addStoreVerb, type StoreOptions } from './store.ts';

export function registerStoreBackup(store: Command, { stdout }: CliIo): void {
  addStoreVerb(store, 'backup', 'copy the embedded store while the service runs')
    .argument('<folder>', 'where to; must not exist yet')
    .action(async (argument: string, options: StoreOptions) => {
      const folder = path.resolve(argument);
      const { store: from } = await readConfig(options.config);
      const administration = await openAdministration(from);
      try {
        if (administration.backup === undefined) {
          throw new Refused('Redis has its own backup: copy its RDB or AOF file, see docs/backup.md');
        }
        await administration.backup(folder);
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
          throw new Refused(`${folder} exists already: nothing is ever put over it`, { cause: error });
        }
        throw error;
      } finally {
        await administration.close();
      }
      stdout.write(options.json === true ? `${JSON.stringify({ folder })}\n` : `copied to ${folder}\n`);
    });
}
