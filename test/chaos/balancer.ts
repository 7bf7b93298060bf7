// A simple round-robin over the nodes of a service, like an app's load balancer: the next node for each request, and one further
// if nothing listens there. It keeps a rate, and counts the outcome of each request.
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser, type Page } from '../world/browser.ts';
import type { World } from '../world/world.ts';

/** `answered`: all others. `unavailable`: 503 with Retry-After. `cut`: no answer. `moved on`: nothing listened, so the next was tried. */
export type Fate = 'answered' | 'unavailable' | 'cut' | 'moved on';

type Answered = { readonly status: number; readonly headers: Headers; readonly text: string };

export class Balancer {
  readonly #nodes: readonly Pick<World, 'base'>[];
  readonly #everyMs: number;
  readonly #took: number[] = [];
  readonly fates: Record<Fate, number> = { answered: 0, unavailable: 0, cut: 0, 'moved on': 0 };
  /** Answers that must not occur: 5xx without Retry-After, 429. */
  readonly complaints: string[] = [];
  /** The errors of cut connections. */
  readonly cuts: string[] = [];
  #next = 0;
  #slotAt = 0;

  /** `rate` in requests a second, if there are enough callers. */
  constructor(nodes: readonly Pick<World, 'base'>[], rate: number) {
    this.#nodes = nodes;
    this.#everyMs = 1000 / rate;
  }

  /** The answer of the next node; undefined if the connection was cut. The caller awaits `turn` first. */
  async send<T extends Answered>(ask: (base: string) => Promise<T>): Promise<T | undefined> {
    const began = performance.now();
    const first = (this.#next += 1);
    for (let step = 0; step < this.#nodes.length; step += 1) {
      const node = this.#nodes[(first + step) % this.#nodes.length];
      try {
        const answer = await ask(node?.base ?? '');
        this.#took.push(performance.now() - began);
        this.#judge(answer);
        return answer;
      } catch (error) {
        const code = errorCodeOf(error);
        if (code !== 'ECONNREFUSED') {
          this.cuts.push(code);
          break;
        }
        this.fates['moved on'] += 1;
      }
    }
    this.fates.cut += 1;
    return undefined;
  }

  /** Milliseconds within which this share of the answers arrived. */
  percentile(share: number): number {
    const sorted = this.#took.toSorted((a, b) => a - b);
    return Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  }

  #judge({ status, headers, text }: Answered): void {
    if (status === 503 && headers.has('retry-after')) {
      this.fates.unavailable += 1;
      return;
    }
    this.fates.answered += 1;
    if (status >= 500 || status === 429) this.complaints.push(`${status} ${text.slice(0, 300)}`);
  }

  /** Resolves when the next request may be sent, or several that are sent together. */
  async turn(): Promise<void> {
    const now = performance.now();
    this.#slotAt = Math.max(now, this.#slotAt + this.#everyMs);
    if (this.#slotAt > now) await sleep(this.#slotAt - now);
  }
}

/** ECONNREFUSED means that nothing was sent. */
function errorCodeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause ?? error);
}

/** A user's browser behind the same balancer. Throws when its connection is cut. */
export class BalancedBrowser extends Browser {
  readonly #balancer: Balancer;
  readonly #issuer: string;

  constructor(issuer: string, balancer: Balancer) {
    super(issuer);
    this.#issuer = issuer;
    this.#balancer = balancer;
  }

  override async request(url: string, init: RequestInit = {}): Promise<Page> {
    await this.#balancer.turn();
    const page = await this.#balancer.send((base) =>
      super.request(`${base}${url.slice(this.#issuer.length)}`, init),
    );
    if (page === undefined) throw new CutOff();
    return { ...page, url };
  }
}

export class CutOff extends Error {}
