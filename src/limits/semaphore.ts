// Lets so many in at a time; the others wait, first come, first served.

export class Semaphore {
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  get isIdle(): boolean {
    return this.#inside === 0;
  }

  /** Runs `action` when fewer than `width` are inside. */
  async run<T>(width: number, action: () => Promise<T>): Promise<T> {
    while (this.#inside >= width) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#inside += 1;
    try {
      return await action();
    } finally {
      this.#inside -= 1;
      this.#waiting.shift()?.();
    }
  }
}
