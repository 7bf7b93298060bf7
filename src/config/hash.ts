// One short text for a whole configuration, so that nodes and people can see whether two are the same. It is keyed, because
// a configuration holds things that could be guessed and then recognised.
import { createHmac } from 'node:crypto';
import type { Config } from './config.ts';
import { MACHINE_KEYS } from './restart.ts';

const PURPOSE = 'postern configuration 1';

/** SHA-256 HMAC, hex. Equal on nodes with the same clients, users, keys, limits and so on, wherever they run. */
export function hashConfig(config: Config): string {
  const ofMachine = [...MACHINE_KEYS, 'usersFrom', 'viewsFolder'].map((key) => [key, undefined]);
  // What the start says to the operator isn't configuration.
  const shared = {
    ...config,
    ...Object.fromEntries(ofMachine),
    notices: undefined,
    store: config.store.engine,
  };
  const mac = createHmac('sha256', config.encryptionKeys[0] ?? '').update(PURPOSE);
  return mac.update(JSON.stringify(shared)).digest('hex');
}
