// What was worked out for a text, for as many texts as came last: an API asks about the same token with each of its requests. Owns
// the bound; everything in it may be forgotten at any moment without harm.

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
