// `postern check`: prints every problem of a configuration, and changes nothing.
import type { Command } from 'commander';
import { ConfigError, type Config } from '../config/config.ts';
import { accessWarnings } from '../config/access-warnings.ts';
import { signInWarnings } from '../config/check-service.ts';
import { secretWarnings } from '../config/secret-expiry.ts';
import { listedNames } from '../config/wording.ts';
import { judgeStoredKeys } from '../keys/open-keys.ts';
import { hasSecondFactor, listStoredFactors, NO_FACTORS } from '../users/factors.ts';
import { listStoredPeople } from '../users/people.ts';
import { addVerb, noSecretsOption, readLoaded, type SecretsOptions } from './configuration.ts';
import { counted, print, type CliIo } from './io.ts';

/** Adds the verb. It throws ConfigError for problems. */
export function registerCheck(program: Command, io: CliIo): void {
  addVerb(
    program,
    'check',
    'say everything that is wrong with the configuration, and whether the keys in the store can be used',
  )
    .addOption(noSecretsOption())
    .action(async ({ config: file, json = false, secrets }: SecretsOptions) => {
      const { config } = await readLoaded(file, { writeKeys: false, readSecrets: secrets });
      // Placeholder secrets can't open anything.
      const { fault, unknown } = secrets ? await judgeStoredKeys(config) : {};
      if (fault !== undefined)
        throw new ConfigError([{ file, message: `the next start would be refused: ${fault}` }]);
      const warnings = [
        ...config.notices,
        ...accessWarnings(config),
        ...signInWarnings(config),
        ...secretWarnings(config.clients, Math.floor(Date.now() / 1000)).map(({ message }) => message),
        ...(secrets && unknown === undefined ? await factorWarnings(config) : []),
        ...(unknown === undefined ? [] : [`the keys in the store were not tried: ${unknown}`]),
      ];
      if (!json) for (const message of warnings) io.stderr.write(`warning: ${message}\n`);
      print(io, { json }, { value: { ok: true, problems: [], warnings }, text: summary(file, config) });
    });
}

/** Which users can't sign in while the file says nothing of second factors. */
async function factorWarnings({ signIn, users, store }: Config): Promise<readonly string[]> {
  if (signIn !== undefined) return [];
  const factors = await listStoredFactors(store);
  const names = [...users, ...(factors.size > 0 ? await listStoredPeople(store) : [])]
    .filter(({ id }) => hasSecondFactor(factors.get(id) ?? NO_FACTORS))
    .map(({ username }) => username);
  if (names.length === 0) return [];
  return [`without sign_in, users who have a second factor can't sign in: ${listedNames(names)}`];
}

function summary(file: string, { issuer, clients, resources, users }: Config): string {
  const parts = [
    counted(clients.length, 'client'),
    counted(resources.length, 'resource'),
    counted(users.length, 'person', 'people'),
  ];
  return `${file} is in order: ${issuer}, ${parts.join(', ')}\n`;
}
