// `postern store migrate`: takes the documents of the configured store (signing keys, the pepper, what changed about people) to
// a Redis that has none. The old store stays as it is.
import type { Command } from 'commander';
import { parseRedisUrl, RedisUrlError } from '../config/redis-url.ts';
import { resolveArgument } from '../config/secret-reference.ts';
import type { PlacedDocument } from '../store/administration.ts';
import { importDocuments, withAdministration } from '../store/open-administration.ts';
import { addVerb, readConfig, type VerbOptions } from './configuration.ts';
import { print, CommandError, type CliIo } from './io.ts';

const STAYS = [
  'sessions, grants and refresh tokens: everybody signs in and consents again',
  'codes: sign-ins that are under way start again',
  'revocations of machine tokens: such a token is called active again until it expires',
  'rate limit counters: they start at zero',
];

export function registerStoreMigrate(store: Command, io: CliIo): void {
  const verb = addVerb(
    store,
    'migrate',
    'take the documents of the store to a Redis that has none',
  ).requiredOption(
    '--to <url>',
    'where to: a redis URL without a password, or env:NAME or file:PATH of one with it',
  );
  verb.action(async (options: VerbOptions & { readonly to: string }) => {
    const to = await resolveTarget(options.to);
    const { store: from } = await readConfig(options.config);
    const documents = await withAdministration(from, (source) => source.exportDocuments());
    if (documents.length === 0)
      throw new CommandError('there is nothing to move: the service has not been started yet');
    if (!(await importDocuments(to, documents))) {
      throw new CommandError('the new store holds documents already: nothing is ever put over them');
    }
    const moved = count(documents);
    print(io, options, { value: { moved, stays: STAYS }, text: toText(moved) });
  });
}

async function resolveTarget(argument: string): Promise<string> {
  const resolved = await resolveArgument(argument);
  if (resolved.kind === 'fault') throw new CommandError(`--to ${resolved.message}`);
  try {
    // Other users of the machine can read a command line.
    if (resolved.value === argument && parseRedisUrl(argument).password !== undefined) {
      throw new CommandError('--to has a password in plain text: put the URL in env:NAME or file:PATH');
    }
    parseRedisUrl(resolved.value);
    return resolved.value;
  } catch (error) {
    if (error instanceof RedisUrlError) throw new CommandError(`--to ${error.message}`, { cause: error });
    throw error;
  }
}

function count(documents: readonly PlacedDocument[]): Readonly<Record<string, number>> {
  const moved: Record<string, number> = {};
  for (const { collection } of documents) moved[collection] = (moved[collection] ?? 0) + 1;
  return moved;
}

function toText(moved: Readonly<Record<string, number>>): string {
  return [
    'Moved:',
    ...Object.entries(moved).map(([collection, documents]) => `  ${collection}: ${documents}`),
    'Not moved:',
    ...STAYS.map((line) => `  ${line}`),
    'Next: set `store` to the new URL on every node and start them. Keep the old store until all is well.',
    '',
  ].join('\n');
}
