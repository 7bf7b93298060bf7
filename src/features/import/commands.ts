// `postern migrate`, and `postern user import`.
import { Argument, Option, type Command } from 'commander';
import { issuerFault } from '../../config/uri.ts';
import { addVerb, checked } from '../../cli/configuration.ts';
import type { CliIo } from '../../cli/io.ts';
import { addListOptions } from '../../cli/table.ts';
import { type LoadAdditions, withUsers } from '../../cli/user-context.ts';
import { migrate } from './migrate.ts';
import { PROVIDERS } from './providers.ts';
import { type ImportOptions, importUsers } from './user-import.ts';
import { USER_FORMATS } from './users.ts';

export function registerMigrate(program: Command, io: CliIo): void {
  program
    .command('migrate')
    .description("convert another provider's configuration and report what changes")
    .addArgument(new Argument('<provider>', 'provider to move from').choices(Object.keys(PROVIDERS)))
    .argument('<file>', 'its configuration, or the export of a Keycloak realm')
    .option('--out <folder>', 'new or empty folder for the files', 'postern')
    .addOption(new Option('--issuer <url>', 'public URL of the service').argParser(checked(issuerFault)))
    .action(async (...[provider, file, options]: Parameters<typeof migrate>) => {
      io.stdout.write(await migrate(provider, file, options));
    });
}

export const userImportWith =
  ({ mail }: LoadAdditions) =>
  (user: Command, io: CliIo) => {
    const verb = addVerb(user, 'import', 'add users from a file to the store');
    if (mail) verb.addOption(new Option('--mail', 'email the invitations').implies({ invite: true }));
    addListOptions(verb)
      .argument('<file>', 'a CSV file with a header, or a file of another provider')
      .addOption(
        new Option('--from <format>', 'format of the file').choices(USER_FORMATS).makeOptionMandatory(),
      )
      .option('--dry-run', 'check the file and write nothing')
      .option('--update', 'change the groups and claims of existing users')
      .option('--invite', 'print an invitation link for each user without a password')
      .action((file: string, options: ImportOptions) =>
        withUsers(options, io, async (context) =>
          importUsers(context, file, {
            options,
            io,
            send: options.mail ? (await mail?.())?.sendLink : undefined,
          }),
        ),
      );
  };
