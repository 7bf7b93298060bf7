// `postern client import`: clients of another provider as a file for clients_from. Writes to stdout only; what couldn't
// be carried over goes to stderr.
import { Option, type Command } from 'commander';
import { IMPORT_FORMATS, importClients, type ImportFormat } from './import/import-clients.ts';
import { counted, type CliIo } from './io.ts';

/** Adds the verb to the group `client`. */
export function registerClientImport(client: Command, { stdout, stderr }: CliIo): void {
  client
    .command('import')
    .argument('<file>', 'the configuration or export of the other provider')
    .description('print the clients of another provider as YAML, and what could not be carried over')
    .addOption(
      new Option('--from <provider>', 'whose file it is').choices(IMPORT_FORMATS).makeOptionMandatory(),
    )
    .action(async (file: string, { from }: { readonly from: ImportFormat }) => {
      const { yaml, count, notes } = await importClients(file, from);
      stdout.write(yaml);
      stderr.write(`${counted(count, 'client')}\n`);
      for (const note of notes) stderr.write(`${note}\n`);
    });
}
