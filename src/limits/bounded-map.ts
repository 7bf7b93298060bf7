// What a process remembers of its callers, and of what they send, without letting them decide how much: above the bound the oldest is
// forgotten.

/** Ten thousand clients at three endpoints fit. An entry is some hundred bytes, so this is 20 MB at most. */
const MAX_ENTRIES = 50_000;

export class BoundedMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #create: () => Value;
  readonly #mayForget: (value: Value) => boolean;

  /** An entry that somebody waits for is kept: `mayForget` says which is not. */
  constructor(create: () => Value, mayForget: (value: Value) => boolean = () => true) {
    this.#create = create;
    this.#mayForget = mayForget;
  }

  get(key: string): Value {
    const found = this.#entries.get(key);
    if (found !== undefined) return found;
    if (this.#entries.size >= MAX_ENTRIES) this.#forgetSome();
    const created = this.#create();
    this.#entries.set(key, created);
    return created;
  }

  /** A tenth at a time, so that a flood of new callers doesn't pay for a search each. */
  #forgetSome(): void {
    let excess = MAX_ENTRIES / 10;
    for (const [key, value] of this.#entries) {
      if (excess === 0) return;
      if (!this.#mayForget(value)) continue;
      this.#entries.delete(key);
      excess -= 1;
    }
  }
}

/** A cache of what was computed for a text: any entry may be gone at any time. */
export class Remembered<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(text: string): Value | undefined {
    return this.#values.get(text);
  }

  /** What was added longest ago makes room. */
  add(text: string, value: Value): Value {
    this.#values.delete(text);
    this.#values.set(text, value);
    const [oldest] = this.#values.size > this.#most ? this.#values.keys() : [];
    if (oldest !== undefined) this.#values.delete(oldest);
    return value;
  }

  delete(text: string): void {
    this.#values.delete(text);
  }
}
