// `postern client import`: the clients of another provider, as YAML. `postern user import`.
import { Option, type Command } from 'commander';
import { addVerb } from '../../cli/configuration.ts';
import { counted, type CliIo } from '../../cli/io.ts';
import { addListOptions } from '../../cli/table.ts';
import { withUsers } from '../../cli/user-context.ts';
import { IMPORT_FORMATS, importClients, type ImportFormat } from './clients.ts';
import { type ImportOptions, importUsers } from './user-import.ts';
import { USER_FORMATS } from './users.ts';

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

export function registerUserImport(user: Command, io: CliIo): void {
  const verb = addVerb(user, 'import', 'add users from a file to the store');
  addListOptions(verb)
    .argument('<file>', 'a CSV file with a header, or the file of another provider')
    .addOption(
      new Option('--from <format>', 'format of the file').choices(USER_FORMATS).makeOptionMandatory(),
    )
    .option('--dry-run', 'check the file and write nothing')
    .option('--update', 'change the groups and claims of existing users')
    .option('--invite', 'print an invitation link for each user without a password')
    .action((file: string, options: ImportOptions) =>
      withUsers(options, (context) => importUsers(context, file, { options, io })),
    );
}
