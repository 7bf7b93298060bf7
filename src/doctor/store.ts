// The result of `postern store check`, and whether a start could read the keys in the store.
import type { Config, StoreConfig } from '../config/config.ts';
import { judgeStoredKeys } from '../keys/stored-keys.ts';
import { withAdministration } from '../store/open-administration.ts';
import { Skipped, type ReportFault } from './check.ts';

/** A folder of lmdb has no settings. */
export async function checkStore(store: StoreConfig, report: ReportFault): Promise<string | undefined> {
  if (store.engine === 'lmdb') return undefined;
  const servers = await readFindings(store);
  if (typeof servers === 'string') return report('store-unreachable', servers);
  for (const { server, faults, warnings } of servers) {
    for (const message of faults) report('store-settings', `${server}: ${message}`);
    for (const message of warnings) report('store-settings', `${server}: ${message}`, 'warning');
  }
  return 'its settings are right';
}

/** Reports why the keys can't be read. */
async function readFindings(store: StoreConfig) {
  try {
    return await withAdministration(store, (administration) => administration.findings());
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export async function checkKeys(config: Config, report: ReportFault): Promise<undefined> {
  const { fault, unknown } = await judgeStoredKeys(config);
  if (unknown !== undefined) throw new Skipped(`the keys in the store were not tried: ${unknown}`);
  return fault === undefined
    ? undefined
    : report('keys-refused', `the next start would be refused: ${fault}`);
}
