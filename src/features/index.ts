// The features, one line each. Prompts, middleware around the engine and pages follow this order.
import type { CoreEvent } from '../observability/audit.ts';
import { access } from './access/feature.ts';
import { account } from './account/feature.ts';
import { clientDocuments } from './client-documents/feature.ts';
import { fastPath } from './fast-path/feature.ts';
import type { Declaration, Reading } from './feature.ts';
import { deviceFlow } from './device-flow/feature.ts';
import { backChannelLogout } from './back-channel-logout/feature.ts';
import { formPost } from './form-post/feature.ts';
import { mail } from './mail/feature.ts';
import { secondFactors } from './second-factors/feature.ts';
import { tryOut } from './try-out/feature.ts';
import { workers } from './workers/feature.ts';

export const FEATURES = [
  secondFactors,
  access,
  account,
  tryOut,
  deviceFlow,
  formPost,
  clientDocuments,
  backChannelLogout,
  mail,
  fastPath,
  workers,
] as const;

const LIST: readonly Declaration[] = FEATURES;

/** The types of what features declare as K, joined as an intersection: unlike Declaration, they have each feature's own keys. */
type Each = (typeof FEATURES)[number];
type Declared<K extends string> = Each extends infer F
  ? F extends Readonly<Record<K, infer P>>
    ? P
    : never
  : never;
type Together<P> = (P extends unknown ? (part: P) => void : never) extends (part: infer T) => void
  ? T
  : never;
type Folded<K extends string> = [Declared<K>] extends [never] ? object : Together<Declared<K>>;

type KeysOf<T> = keyof {
  [K in keyof Declaration as NonNullable<Declaration[K]> extends T ? K : never]: true;
};

/** Merges what all features declare as `key` into one object. */
export const fold = <K extends KeysOf<Readonly<Record<string, unknown>>>>(key: K) =>
  // TypeScript can't tell which key each member of a list has.
  joinParts(LIST.map((one) => one[key])) as Folded<K>;

type Item<L> = L extends readonly (infer I)[] ? I : never;

/** Joins what all features declare as `key` into one list. */
export function list<K extends KeysOf<readonly unknown[]>>(key: K): readonly Item<Declared<K>>[] {
  return LIST.flatMap((one): readonly unknown[] => one[key] ?? []) as never;
}

/** An event of the core or of a feature. */
export type AuditEvent = CoreEvent | Item<Declared<'audit'>>;

/** Whether users are notified of events of their accounts. */
export const notifiesUsers = (config: object) =>
  LIST.some(({ sendsNotes = false, isOn }) => sendsNotes && isOn(config as never));

/** Reads the values that keys of features refer to. */
export const readKeys = async (form: object, reading: Reading): Promise<object> =>
  joinParts(await Promise.all(LIST.map(async ({ read }) => read?.(form as never, reading))));

/** Merges the parts. Throws a TypeError if two of them have the same key. */
export function joinParts<T extends object>(parts: readonly (T | undefined)[]): T {
  const entries = parts.flatMap((part) => Object.entries(part ?? {}));
  const found = Object.fromEntries(entries);
  if (Object.keys(found).length < entries.length) throw new TypeError('two features have the same key');
  return found as T;
}
