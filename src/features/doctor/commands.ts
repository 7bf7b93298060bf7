// `postern doctor`: checks a running service from outside, as browsers and clients see it, and reports faults of the proxy and the
// network.
import type { Command } from 'commander';
import { ConfigError, type Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { formatProblem } from '../../config/problems.ts';
import { normalizeIssuer } from '../../config/uri.ts';
import { ask } from './ask.ts';
import { type Check, runCheck, type Level, type Result } from './check.ts';
import { checkClientAddress } from './client-address.ts';
import { checkDiscovery, checkReach } from './discovery.ts';
import { checkSignIn } from './sign-in.ts';
import { checkKeys, checkStore } from './store.ts';
import { checkTls } from './tls.ts';
import { addVerb, type VerbOptions } from '../../cli/configuration.ts';
import { counted, Ended, EXIT, print, CommandError, type CliIo } from '../../cli/io.ts';
import type { LoadAdditions } from '../../cli/user-context.ts';
import { withProgress } from '../../cli/terminal.ts';

type DoctorOptions = VerbOptions & { readonly url?: string };

/** Exit code 0: no problems, perhaps warnings; 1: problems. */
export const doctorWith = (additions: LoadAdditions) => (program: Command, io: CliIo) => {
  addVerb(program, 'doctor', 'check a running service from outside, through its public URL and proxy')
    .option(
      '--url <url>',
      'public URL to check instead of the issuer; without --config, only this URL is checked',
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const isUrlOnly = options.url !== undefined && command.getOptionValueSource('config') === 'default';
      const known = isUrlOnly ? { results: [] } : await readKnown(options.config, additions);
      const results = [
        ...known.results,
        ...(await withProgress(io, 'Checking the service', checkPublic(known, options.url))),
      ];
      printResults(io, options, results);
      if (results.some(({ level }) => level === 'problem')) throw new Ended(EXIT.refused);
    });
};

type Known = Readonly<{ config?: Config; results: readonly Result[] }>;

/** Reads the configuration with its secrets, which the store needs, else without. Throws ConfigError. */
async function readKnown(file: string, additions: LoadAdditions): Promise<Known> {
  const read = (readSecrets: boolean) => loadConfig(file, { writeKeys: false, readSecrets });
  try {
    const config = await read(true);
    const store = await runCheck('store', (report) => checkStore(config.store, report));
    const keys = await runCheck('keys', (report) => checkKeys(config, report));
    const results = [...store, ...keys];
    for (const [name, load] of Object.entries(additions)) {
      const found = await (await load()).probeServer(config);
      if (found) results.push({ name, ...found });
    }
    return { config, results };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = await read(false);
    const message = `not checked: ${error.problems.map(formatProblem).join('; ')}`;
    return { config, results: [{ level: 'skipped', name: 'store', message }] };
  }
}

/** Checks through the public address, in the order of the report. They run only if the service answers. */
const CHECKS: Readonly<Record<string, Check>> = {
  discovery: checkDiscovery,
  'sign-in': checkSignIn,
  'client-address': checkClientAddress,
};

async function checkPublic({ config }: Known, url: string | undefined): Promise<readonly Result[]> {
  if (url !== undefined && !(/^https?:/.test(url) && URL.canParse(url)))
    throw new CommandError('--url must be the URL of the service, such as https://id.example.com');
  const issuer = normalizeIssuer(config?.issuer ?? url ?? '');
  const target = { issuer, at: normalizeIssuer(url ?? issuer), config, ask, now: () => Date.now() };
  const run = (name: string, check: Check) => runCheck(name, (report) => check(target, report));
  const results = [...(await run('tls', checkTls)), ...(await run('reach', checkReach))];
  if (!results.some(({ name }) => name === 'reach')) {
    const message = 'not checked: fix the problems above first';
    return [...results, { level: 'skipped', name: 'public', message }];
  }
  for (const [name, check] of Object.entries(CHECKS)) results.push(...(await run(name, check)));
  return results;
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
    text: [...lines, '', `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}`].join('\n'),
  });
}
