// `postern client import`: the clients of another provider, as YAML.
import { Option, type Command } from 'commander';
import { counted, type CliIo } from '../../cli/io.ts';
import { IMPORT_FORMATS, importClients, type ImportFormat } from './clients.ts';

export function registerClientImport(client: Command, io: CliIo): void {
  client
    .command('import')
    .argument('<file>', "the other provider's configuration or export file")
    .description("convert another provider's clients to YAML")
    .addOption(
      new Option('--from <provider>', 'provider to import from')
        .choices(IMPORT_FORMATS)
        .makeOptionMandatory(),
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
