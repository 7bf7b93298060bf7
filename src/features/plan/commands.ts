// `postern plan FILE`: what a changed file would change. The exit codes are for CI.
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import type { StoreConfig } from '../../config/config.ts';
import { loadConfigWithSources } from '../../config/load.ts';
import { rulesDiffer } from './users.ts';
import { needsRestart } from '../../config/restart.ts';
import { toPlan, type Plan, type PlanSide } from './plan.ts';
import { noHash } from '../../store/keyed-hash.ts';
import { isStoreMade, withStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { canReach, type Factors, hasSecondFactor, NO_FACTORS } from '../../users/factors.ts';
import { openUsers } from '../../users/accounts.ts';
import { addVerb, noSecretsOption, type SecretsOptions } from '../../cli/configuration.ts';
import { Ended, print, type CliIo } from '../../cli/io.ts';

const EXIT_CODES = { nothing: 0, changes: 10, breaking: 11 };
const SUMMARIES = { nothing: 'no changes', changes: 'no breaking changes', breaking: 'breaking changes' };

export function registerPlan(program: Command, io: CliIo): void {
  addVerb(
    program,
    'plan',
    'show what a new configuration would change (exit codes: 0 no changes, 10 changes, 11 breaking changes)',
  )
    .argument('<file>', 'the new configuration')
    .addOption(noSecretsOption())
    .action(async (file: string, { config, json, secrets }: SecretsOptions) => {
      const current = await readSide(config, secrets);
      const next = await readSide(file, secrets);
      const stored = rulesDiffer(current.config, next.config)
        ? await readStored(current.config.store, secrets)
        : undefined;
      const plan = toPlan({ ...current, stored }, next, Math.floor(Date.now() / 1000));
      const restart = [...new Set(plan.items.map(({ path }) => path).filter(needsRestart))];
      print(io, { json }, { value: { ok: true, ...plan, restart }, text: toText(plan) });
      if (plan.result !== 'nothing') throw new Ended(EXIT_CODES[plan.result]);
    });
}

async function readSide(file: string, readSecrets: boolean): Promise<PlanSide> {
  const loaded = await loadConfigWithSources(file, { writeKeys: false, readSecrets });
  return { ...loaded, folder: dirname(resolve(file)) };
}

/** The users in the store and all second factors, or the reason why they can't be read. */
async function readStored(store: StoreConfig, hasSecrets: boolean): Promise<PlanSide['stored']> {
  if (!hasSecrets) return { unknown: 'the store is not opened with --no-secrets' };
  try {
    const damaged = new Set<string>();
    const read = async (opened: Store) => {
      const { storedUsers, factors: stored } = openUsers(opened, noHash);
      return [await storedUsers.list(), await stored.list((id) => damaged.add(id))] as const;
    };
    // A plan doesn't create a store.
    const [users, factors] = isStoreMade(store)
      ? await withStore(store, read)
      : [[], new Map<string, Factors>()];
    return {
      users,
      reachedBy: (signIn, accountId) => {
        if (damaged.has(accountId)) return 'none';
        const own = factors.get(accountId) ?? NO_FACTORS;
        if (!hasSecondFactor(own)) return 'password';
        const levels = ['passkey', 'second_factor'] as const;
        return levels.find((level) => canReach(signIn, own, level, Infinity)) ?? 'none';
      },
    };
  } catch (error) {
    return { unknown: error instanceof Error ? error.message : String(error) };
  }
}

/** Lists breaking changes first; equal ones in the order of the file. */
function toText({ items, result }: Plan): string {
  const lines = (['breaking', 'change', 'info'] as const).flatMap((severity) => {
    const name = severity === 'breaking' ? 'BREAKING' : severity.padEnd(8);
    const some = items.filter((item) => item.severity === severity);
    return some.map(({ path, message }) => `${name}  ${path}: ${message}`);
  });
  return [...lines, '', SUMMARIES[result]].join('\n').trimStart();
}
