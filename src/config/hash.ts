// Hashes a configuration, so that nodes and administrators can see whether two are the same. The hash is keyed, because a
// configuration contains values that could otherwise be guessed and confirmed.
import { createHmac } from 'node:crypto';
import type { Config } from './config.ts';
import { MACHINE_KEYS } from './restart.ts';

const PURPOSE = 'postern configuration 1';

/** SHA-256 HMAC, hex. Equal on nodes with the same clients, users, keys, limits and so on, wherever they run. */
export function hashConfig(config: Config): string {
  const ofMachine = [...MACHINE_KEYS, 'usersFrom', 'viewsFolder'].map((key) => [key, undefined]);
  // Notices at startup aren't configuration.
  const shared = {
    ...config,
    ...Object.fromEntries(ofMachine),
    notices: undefined,
    store: config.store.engine,
  };
  const mac = createHmac('sha256', config.encryptionKeys[0] ?? '').update(PURPOSE);
  return mac.update(JSON.stringify(shared)).digest('hex');
}
