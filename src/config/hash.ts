// One short text for a whole configuration, so that nodes and people can see whether two are the same. It is keyed, because
// a configuration holds things that could be guessed and then recognised.
import { createHash, createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';

const PURPOSE = 'postern configuration 1';

/** Belongs to one machine, so it may differ between nodes that are otherwise the same. */
const MACHINE_KEYS = [
  'listen',
  'management',
  'workers',
  'log',
  'audit',
  'store',
  'usersFrom',
  'viewsFolder',
] as const;

/** SHA-256 HMAC, hex. Equal on nodes with the same clients, users, keys, limits and so on, wherever they run. */
export function hashConfig(config: Config): string {
  const ofMachine: ReadonlySet<string> = new Set(MACHINE_KEYS);
  const shared = Object.entries(config).filter(([key]) => !ofMachine.has(key));
  // What the start says to the operator isn't configuration.
  const value = { ...Object.fromEntries(shared), notices: [], store: config.store.engine };
  const mac = createHmac('sha256', config.encryptionKeys[0] ?? '').update(PURPOSE);
  return mac.update(canonical(value)).digest('hex');
}

type Hashed = { readonly config: Config; readonly hash: string };

/** Whether they don't differ on this machine either. */
export function isSameConfig(one: Hashed, other: Hashed): boolean {
  const isSame = (key: (typeof MACHINE_KEYS)[number]) =>
    isDeepStrictEqual(one.config[key], other.config[key]);
  return one.hash === other.hash && MACHINE_KEYS.every(isSame);
}

/** JSON with sorted keys, without what is undefined; bytes as their own hash. */
function canonical(value: unknown): string {
  if (Buffer.isBuffer(value)) return `"${createHash('sha256').update(value).digest('base64')}"`;
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields: string[] = [];
  for (const [key, field] of Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    if (field !== undefined) fields.push(`${JSON.stringify(key)}:${canonical(field)}`);
  }
  return `{${fields.join()}}`;
}
