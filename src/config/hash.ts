// One short text for a whole configuration, so that nodes and people can see whether two are the same. It is keyed, because
// a configuration holds things that could be guessed and then recognised.
import { createHmac } from 'node:crypto';
import { list } from '../features/index.ts';
import type { Config } from './config.ts';

const PURPOSE = 'postern configuration 1';

/** Belongs to one machine, so it may differ between nodes that are otherwise the same. */
const MACHINE_KEYS = [
  'listen',
  'management',
  'log',
  'audit',
  'store',
  'usersFrom',
  'viewsFolder',
  ...list('ofMachine'),
] as const;

/** SHA-256 HMAC, hex. Equal on nodes with the same clients, users, keys, limits and so on, wherever they run. */
export function hashConfig(config: Config): string {
  const ofMachine = Object.fromEntries(MACHINE_KEYS.map((key) => [key, undefined]));
  // What the start says to the operator isn't configuration.
  const shared = { ...config, ...ofMachine, notices: undefined, store: config.store.engine };
  const mac = createHmac('sha256', config.encryptionKeys[0] ?? '').update(PURPOSE);
  return mac.update(JSON.stringify(shared)).digest('hex');
}
