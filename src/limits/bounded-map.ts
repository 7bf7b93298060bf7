// Bounds what a process remembers of its callers and their data, so that they can't decide how much.

/** A map in which any entry may be gone at any time: above the bound, the oldest is removed. */
export class Remembered<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;

  /** Ten thousand clients at three endpoints fit. An entry is some hundred bytes, so this is 20 MB at most. */
  constructor(most = 50_000) {
    this.#most = most;
  }

  get(text: string): Value | undefined {
    return this.#values.get(text);
  }

  getOrAdd(text: string, create: () => Value): Value {
    return this.#values.get(text) ?? this.add(text, create());
  }

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
