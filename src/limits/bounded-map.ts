// Bounds what a process remembers of its callers and their data, so that they can't decide how much.

/** A map in which any entry may be gone at any time: above the bound, the oldest is removed. */
export class Remembered<Value> extends Map<string, Value> {
  readonly #most: number;

  /** Ten thousand clients at three endpoints fit. An entry is some hundred bytes, so this is 20 MB at most. */
  constructor(most = 50_000) {
    super();
    this.#most = most;
  }

  override set(text: string, value: Value): this {
    this.delete(text);
    super.set(text, value);
    const [oldest] = this.size > this.#most ? this.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
    return this;
  }

  getOrAdd(text: string, create: () => Value): Value {
    const known = this.get(text);
    if (known !== undefined) return known;
    const value = create();
    this.set(text, value);
    return value;
  }
}
