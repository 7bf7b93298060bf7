// The engine instance that serves now. Swapping is one assignment: a request in flight ends on the instance it began on.
import type { Middleware } from 'koa';
import { inSpan } from '../observability/trace.ts';
import type { Engine } from './provider.ts';

export class LiveEngine {
  #current: Engine;

  constructor(first: Engine) {
    this.#current = first;
  }

  get current(): Engine {
    return this.#current;
  }

  swap(next: Engine): void {
    this.#current = next;
  }

  readonly handle: Middleware = (ctx, next) =>
    inSpan('engine', {}, async () => this.#current.handle(ctx, next));
}
