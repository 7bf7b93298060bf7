// `postern doctor`: looks at a running service from outside, as a browser and a client see it, and at its files from inside, and
// says what the surroundings broke. Owns what is read and how it is told; each check has its own file in doctor/.
import { Option, type Command } from 'commander';
import { ConfigError, formatProblem, type Config } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { localUrl, readListenAddresses, type ListenAddresses } from '../config/listen-addresses.ts';
import type { LoadedConfig } from '../config/load.ts';
import { normalizeIssuer } from '../config/uri.ts';
import { configOption, jsonOption, readLoaded } from './configuration.ts';
import { ask, Unanswered } from '../doctor/ask.ts';
import { checkFiles } from '../doctor/files.ts';
import { checkKeys } from '../doctor/keys.ts';
import { problem, skipped, type Finding, type Level } from '../doctor/finding.ts';
import { checkRunning } from '../doctor/running.ts';
import { examinePublic } from '../doctor/run-checks.ts';
import { checkSecrets } from '../doctor/secrets.ts';
import { checkStore } from '../doctor/store.ts';
import { Ended, Refused, type CliIo } from './io.ts';

type DoctorOptions = {
  readonly config: string;
  readonly url?: string;
  readonly guesses: boolean;
  readonly json?: boolean;
};

const PROBLEMS = 1;

/** Adds the verb. Exit code 0: no problem, warnings perhaps; 1: problems. */
export function registerDoctor(program: Command, io: CliIo): void {
  program
    .command('doctor')
    .description('say what the proxy and the surroundings of a running service broke')
    .addOption(configOption())
    .addOption(
      new Option(
        '--url <url>',
        'the public address, instead of the issuer; without --config nothing else is known',
      ),
    )
    .addOption(
      new Option(
        '--no-guesses',
        "do not use up a client's limit on wrong secrets to learn whose address is seen",
      ),
    )
    .addOption(jsonOption())
    .action(async (options: DoctorOptions, command: Command) => {
      const isUrlOnly = options.url !== undefined && command.getOptionValueSource('config') === 'default';
      const known = isUrlOnly ? NOTHING : await readKnown(options.config);
      const findings = [...(await examineHere(known)), ...(await examineThere(known, options))];
      print(io, findings, options.json === true);
      if (findings.some(({ level }) => level === 'problem')) throw new Ended(PROBLEMS);
    });
}

/** What could be read of the configuration. */
type Known = {
  readonly addresses: ListenAddresses | undefined;
  readonly loaded: LoadedConfig | undefined;
  /** Whether the secrets are what they are, and not made up for looking. */
  readonly hasSecrets: boolean;
  readonly findings: readonly Finding[];
};

const NOTHING: Known = { addresses: undefined, loaded: undefined, hasSecrets: false, findings: [] };

/** The configuration with its secrets, else without, else only where the service is. */
async function readKnown(file: string): Promise<Known> {
  const addresses = await readListenAddresses(file);
  const full = await tryToRead(file, true);
  if (!(full instanceof ConfigError)) return { addresses, loaded: full, hasSecrets: true, findings: [] };
  const bare = await tryToRead(file, false);
  if (bare instanceof ConfigError) {
    const repair = 'Repair it; postern check says the same.';
    const findings = bare.problems.map((one) => problem('configuration-broken', formatProblem(one), repair));
    return { addresses, loaded: undefined, hasSecrets: false, findings };
  }
  const what = full.problems.map(formatProblem).join('; ');
  const note = `the store and the running configuration are not compared, because secrets can not be read here: ${what}`;
  return { addresses, loaded: bare, hasSecrets: false, findings: [skipped('secrets-unreadable', note)] };
}

async function tryToRead(file: string, readSecrets: boolean): Promise<LoadedConfig | ConfigError> {
  try {
    return await readLoaded(file, { writeKeys: false, readSecrets, secretFiles: 'any_mode' });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

async function examineHere({ addresses, loaded, hasSecrets, findings }: Known): Promise<readonly Finding[]> {
  const found = [...findings];
  if (addresses !== undefined) {
    const hash = hasSecrets ? loaded?.hash : undefined;
    found.push(...(await checkRunning({ management: addresses.management, hash, ask })));
  }
  if (loaded === undefined) return found;
  const { config, sources } = loaded;
  found.push(...(await checkFiles(config, sources)), ...checkSecrets(config, Date.now()));
  if (hasSecrets) found.push(...(await checkStore(config.store)), ...(await checkKeys(config)));
  return found;
}

async function examineThere(
  { addresses, loaded }: Known,
  options: DoctorOptions,
): Promise<readonly Finding[]> {
  const { url, guesses } = options;
  if (url !== undefined && !(/^https?:/.test(url) && URL.canParse(url)))
    throw new Refused('--url must be the address of the service, such as https://id.example.com');
  const issuer = loaded?.config.issuer ?? addresses?.issuer ?? url;
  if (issuer === undefined) return [skipped('public', 'the issuer is not known: give --url')];
  const expected = normalizeIssuer(issuer);
  const examination = {
    issuer: expected,
    at: normalizeIssuer(url ?? issuer),
    direct: addresses && (await findDirect(addresses.listen, expected)),
    config: loaded?.config,
    ask,
    now: () => Date.now(),
  };
  return examinePublic(examination, { guesses });
}

/** The listener behind the proxy, where it answers from this machine and is the one that is meant. */
async function findDirect(listen: Config['listen'], issuer: string): Promise<string | undefined> {
  const base = `${localUrl(listen)}${new URL(issuer).pathname.replace(/\/$/, '')}`;
  try {
    const { json } = await ask(`${base}${ENDPOINTS.discovery}`);
    return json?.['issuer'] === issuer ? base : undefined;
  } catch (error) {
    if (error instanceof Unanswered) return undefined;
    throw error;
  }
}

function print({ stdout }: CliIo, findings: readonly Finding[], json: boolean): void {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (json) {
    stdout.write(`${JSON.stringify({ ok: problems === 0, problems, warnings, findings }, undefined, 2)}\n`);
    return;
  }
  for (const { level, name, message, advice } of findings) {
    stdout.write(`${level.padEnd(8)} ${name}: ${message}\n`);
    if (advice !== undefined) stdout.write(`${' '.repeat(9)}${advice}\n`);
  }
  stdout.write(`\n${counted(problems, 'problem')}, ${counted(warnings, 'warning')}\n`);
}

function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
