// `postern client import`: the clients of another provider, as YAML.
import { Option, type Command } from 'commander';
import { counted, type CliIo } from '../../cli/io.ts';
import { IMPORT_FORMATS, importClients, type ImportFormat } from './clients.ts';

export function registerClientImport(client: Command, io: CliIo): void {
  client
    .command('import')
    .argument('<file>', 'configuration or export of the other provider')
    .description('convert the clients of another provider to YAML')
    .addOption(
      new Option('--from <provider>', 'the other provider').choices(IMPORT_FORMATS).makeOptionMandatory(),
    )
    .action((file: string, { from }: { readonly from: ImportFormat }) => importFrom(file, from, io));
}

/** Only the clients go to stdout. */
async function importFrom(file: string, from: ImportFormat, { stdout, stderr }: CliIo): Promise<void> {
  const { yaml, count, notes } = await importClients(file, from);
  stdout.write(yaml);
  stderr.write(`${counted(count, 'client')}\n`);
  for (const note of notes) stderr.write(`${note}\n`);
}
