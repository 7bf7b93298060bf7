// `postern doctor`: checks a running service from outside, as a browser and a client see it, and reports what the proxy and
// the network broke.
import type { Command } from 'commander';
import { ConfigError, formatProblem, type Config } from '../config/config.ts';
import { readListenAddresses } from '../config/listen-addresses.ts';
import { normalizeIssuer } from '../config/uri.ts';
import { ask } from '../doctor/ask.ts';
import { runCheck, type Level, type Result } from '../doctor/check.ts';
import { checkPublicAddress } from '../doctor/public-address.ts';
import { checkStore } from '../doctor/store.ts';
import { addVerb, readConfig, type VerbOptions } from './configuration.ts';
import { counted, Ended, EXIT, print, CommandError, type CliIo } from './io.ts';

type DoctorOptions = VerbOptions & { readonly url?: string };

/** Adds the verb. Exit code 0: no problem, warnings perhaps; 1: problems. */
export function registerDoctor(program: Command, io: CliIo): void {
  addVerb(program, 'doctor', 'check a running service through its public address and its proxy')
    .option(
      '--url <url>',
      'the public address, instead of the issuer; without --config nothing else is known',
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const isUrlOnly = options.url !== undefined && command.getOptionValueSource('config') === 'default';
      const known = isUrlOnly ? { results: [] } : await readKnown(options.config);
      const results = [...known.results, ...(await checkPublic(known, options.url))];
      printResults(io, options, results);
      if (results.some(({ level }) => level === 'problem')) throw new Ended(EXIT.refused);
    });
}

/** What could be read of the configuration. */
type Known = {
  readonly issuer?: string | undefined;
  readonly config?: Config;
  readonly results: readonly Result[];
};

/** The configuration with its secrets, which the store needs, else without, else only the issuer. */
async function readKnown(file: string): Promise<Known> {
  const full = await tryToRead(file, true);
  if (!(full instanceof ConfigError)) {
    const results = await runCheck('store', (report) => checkStore(full, report));
    return { config: full, issuer: full.issuer, results };
  }
  const config = await tryToRead(file, false);
  if (!(config instanceof ConfigError)) {
    const message = `the store is not looked at: ${full.problems.map(formatProblem).join('; ')}`;
    return { config, issuer: config.issuer, results: [{ level: 'skipped', name: 'store', message }] };
  }
  const results = await runCheck('configuration', async (report) => {
    for (const one of config.problems) report('configuration-broken', formatProblem(one));
    return undefined;
  });
  return { issuer: (await readListenAddresses(file))?.issuer, results };
}

async function tryToRead(file: string, readSecrets: boolean): Promise<Config | ConfigError> {
  try {
    return await readConfig(file, { writeKeys: false, readSecrets, secretFiles: 'any_mode' });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

async function checkPublic({ config, issuer }: Known, url: string | undefined): Promise<readonly Result[]> {
  if (url !== undefined && !(/^https?:/.test(url) && URL.canParse(url)))
    throw new CommandError('--url must be the address of the service, such as https://id.example.com');
  const expected = issuer ?? url;
  if (expected === undefined)
    return [{ level: 'skipped', name: 'public', message: 'the issuer is not known: give --url' }];
  return checkPublicAddress({
    issuer: normalizeIssuer(expected),
    at: normalizeIssuer(url ?? expected),
    config,
    ask,
    now: () => Date.now(),
  });
}

function printResults(io: CliIo, options: DoctorOptions, results: readonly Result[]): void {
  const count = (level: Level) => results.filter((result) => result.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const lines = results.flatMap(({ level, name, message, advice }) => [
    `${level.padEnd(8)} ${name}: ${message}`,
    ...(advice === undefined ? [] : [`${' '.repeat(9)}${advice}`]),
  ]);
  print(io, options, {
    value: { ok: problems === 0, problems, warnings, findings: results },
    text: [...lines, '', `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}`, ''].join('\n'),
  });
}
