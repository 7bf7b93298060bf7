// What a process remembers of documents, without letting their number decide how much.

/** An entry is some kilobytes at most. */
const MAX_ENTRIES = 1000;

/** Sets the value and, above the bound, forgets what was set longest ago. */
export function setBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > MAX_ENTRIES ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
