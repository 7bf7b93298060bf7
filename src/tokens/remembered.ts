// A bounded cache of what was computed for a text: an API asks about the same token with each of its requests. Any entry may
// be evicted at any time.

const MAX_TEXTS = 2000;

export class Remembered<Value> {
  readonly #values = new Map<string, Value>();

  get(text: string): Value | undefined {
    return this.#values.get(text);
  }

  /** The oldest one makes room. */
  add(text: string, value: Value): Value {
    const [oldest] = this.#values.keys();
    if (this.#values.size >= MAX_TEXTS && oldest !== undefined) this.#values.delete(oldest);
    this.#values.set(text, value);
    return value;
  }
}
