// Settings of Redis that risk data (lmdb has no settings), and whether the encryption keys can decrypt the store.
import type { Config, StoreConfig } from '../../config/config.ts';
import { tryStoredKeys } from '../../server/sealed.ts';
import type { ReportFault } from './check.ts';

export async function checkStore(store: StoreConfig, report: ReportFault) {
  if (store.engine === 'lmdb') return undefined;
  const { inspectRedis } = await import('../../store/redis/connection.ts');
  const servers = await inspectRedis(store.url).catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  );
  if (typeof servers === 'string') return report('store-unreachable', servers);
  for (const { server, findings } of servers)
    for (const { severity, message } of findings)
      report('store-settings', `${server}: ${message}`, severity === 'fault' ? 'problem' : 'warning');
  return 'its settings are correct';
}

export async function checkKeys(config: Config, report: ReportFault) {
  const { message } = await tryStoredKeys(config);
  return message && report('encryption-keys', message);
}
