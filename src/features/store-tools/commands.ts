// `postern store …`. No URL is printed, because it may hold a password.
import path from 'node:path';
import type { Command } from 'commander';
import { ValueFault } from '../../config/problems.ts';
import { parseRedisUrl } from '../../config/redis-url.ts';
import { resolveReference } from '../../config/secret-reference.ts';
import { hasPassword } from '../../config/store-location.ts';
import { confirm, withProgress, yesOption, type YesOption } from '../../cli/terminal.ts';
import { addVerb, readService, type VerbOptions } from '../../cli/configuration.ts';
import { CommandError, print, type CliIo } from '../../cli/io.ts';
import { withKeys } from '../../cli/keys.ts';

export function registerStore(program: Command, io: CliIo): void {
  const store = program.command('store').description('back up and migrate the data store');
  addVerb(store, 'backup', 'copy the embedded store, even while the service is running')
    .argument('<folder>', 'target folder; must not exist yet')
    .action((folder: string, options: VerbOptions) => backup(path.resolve(folder), options, io));
  addVerb(store, 'migrate', "copy the embedded store's documents to an empty Redis database")
    .requiredOption('--to <url>', 'target Redis URL; if it contains a password, use env:NAME or file:PATH')
    .action((options: VerbOptions & { readonly to: string }) => migrate(options, io));
  addVerb(store, 'set-issuer', 'change the issuer that the store belongs to')
    .addOption(yesOption())
    .action((options: VerbOptions & YesOption) => setIssuer(options, io));
}

async function backup(folder: string, options: VerbOptions, io: CliIo): Promise<void> {
  const { store } = await readService(options.config, io);
  if (store.engine !== 'lmdb')
    throw new CommandError(
      'only the embedded store can be backed up: for Redis, copy its RDB or AOF file, see docs/backup.md',
    );
  const { copyFolder } = await import('./lmdb-folder.ts');
  await withProgress(io, 'Copying the store', copyFolder(store.folder, folder)).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new CommandError(`${folder} already exists: choose a new folder`, { cause: error });
  });
  print(io, options, { value: { folder }, text: `Copied the store to ${folder}` });
}

/** Copies signing keys, the pepper and data of users; docs/redis.md lists what isn't copied. Doesn't change the old store. */
async function migrate(options: VerbOptions & { readonly to: string }, io: CliIo): Promise<void> {
  const to = await resolveTarget(options.to);
  const { store } = await readService(options.config, io);
  if (store.engine !== 'lmdb')
    throw new CommandError('only the embedded store can be migrated: to copy Redis, see docs/backup.md');
  const { moveToRedis } = await import('./move-to-redis.ts');
  const moved = await withProgress(io, 'Copying the store', moveToRedis(store.folder, to));
  if (moved === undefined) throw new CommandError('the target store is not empty: choose an empty one');
  print(io, options, { value: { moved } });
}

async function resolveTarget(argument: string): Promise<string> {
  try {
    // Any file mode is accepted, because no configuration could allow it for a mount that can't do better.
    const url = await resolveReference(argument, process.cwd(), { secretFiles: 'any_mode' });
    // Other users of the machine can read a command line.
    if (url === argument && hasPassword(argument)) {
      throw new CommandError('--to contains a password: use env:NAME or file:PATH instead');
    }
    parseRedisUrl(url);
    return url;
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error;
    throw new CommandError(`--to ${error.message}`, { cause: error });
  }
}

/** For an issuer with a new URL. A service refuses to start on another issuer's store: they would share keys and tokens. */
function setIssuer(options: VerbOptions & YesOption, io: CliIo): Promise<void> {
  return withKeys({ ...options, anyIssuer: true }, io, async ({ config: { issuer }, keyStore }) => {
    const question = `Change the issuer of the store to ${issuer} and reject tokens of the previous issuer?`;
    await confirm(io, options, question);
    let before: string | undefined;
    await keyStore.update((ring) => {
      before = ring.installation?.issuer;
      if (ring.installation === undefined || before === issuer) return ring;
      return { ...ring, installation: { ...ring.installation, issuer } };
    });
    const text = `Changed the issuer to ${issuer}. Nodes of the previous issuer stop signing, and its tokens are rejected.`;
    print(io, options, { value: { issuer, before: before ?? null }, text });
  });
}
