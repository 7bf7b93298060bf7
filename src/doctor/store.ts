// What `postern store check` says. A folder of lmdb has no settings, and isn't opened: whoever opens it first owns its lock
// file, and that must be the service.
import type { StoreConfig } from '../config/config.ts';
import { openAdministration } from '../store/administration.ts';
import { orOk, problem, warning, type Finding } from './finding.ts';

const SEE = 'See docs/redis.md.';

export async function checkStore(store: StoreConfig): Promise<readonly Finding[]> {
  if (store.engine === 'lmdb') return [];
  const servers = await readFindings(store);
  if (typeof servers === 'string')
    return [problem('store-unreachable', servers, 'Is it running, and may this machine reach it?')];
  const findings = servers.flatMap(({ server, faults, warnings }) => [
    ...faults.map((message) => problem('store-settings', `${server}: ${message}`, SEE)),
    ...warnings.map((message) => warning('store-settings', `${server}: ${message}`, SEE)),
  ]);
  return orOk(findings, 'store', 'its settings are right');
}

async function readFindings(store: StoreConfig) {
  try {
    const administration = await openAdministration(store);
    try {
      return await administration.findings();
    } finally {
      await administration.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
