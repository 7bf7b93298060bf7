// One short text for a whole configuration, so that nodes and people can see whether two are the same. It is keyed, because
// a configuration holds things that could be guessed and then recognised.
import { createHmac, hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';
import { isRecord } from './parse-fields.ts';

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
  const fields = Object.entries(value).flatMap(([key, field]) =>
    field === undefined ? [] : [`"${key}":${canonical(field)}`],
  );
  return mac.update(`{${fields.toSorted().join()}}`).digest('hex');
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
  // One by one, so that no copy of all of them is alive at once.
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  return JSON.stringify(sorted(value)) ?? 'null';
}

function sorted(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return hash('sha256', value, 'base64');
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const fields: Record<string, unknown> = {};
  for (const key of Object.keys(value).toSorted()) fields[key] = sorted(value[key]);
  return fields;
}
