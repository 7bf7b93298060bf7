// A proxy between the service and its Redis that delays every batch of commands. The delay separates commands that wait for an
// answer from commands that are sent together, so round trips in sequence can be counted.
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser, type Page } from '../test/world/browser.ts';

/** Far longer than a process needs between an answer and its next command, far shorter than the service's timeout. */
const DELAY_MS = 25;
/** Commands that are sent after the answer have been sent by then. */
const QUIET_MS = 150;

export type Proxy = {
  readonly url: string;
  /** The number of round trips that the caller waited for before the last answer. */
  count(): Promise<number>;
  stop(): Promise<unknown>;
};

export async function startProxy(redisPort: number): Promise<Proxy> {
  let heard: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(redisPort, '127.0.0.1');
    sockets.add(near).add(far);
    near.on('data', (chunk: Buffer) => {
      heard.push(performance.now());
      setTimeout(() => far.write(chunk), DELAY_MS);
    });
    far.pipe(near);
    for (const socket of [near, far]) {
      socket.on('error', () => undefined).on('close', () => void (near.destroy(), far.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    async count() {
      const answeredAt = performance.now();
      await sleep(QUIET_MS);
      const waves: number[] = [];
      for (const atMs of heard) if (atMs >= (waves.at(-1) ?? -DELAY_MS) + DELAY_MS - 2) waves.push(atMs);
      heard = [];
      return waves.filter((atMs) => atMs <= answeredAt - DELAY_MS + 2).length;
    },
    async stop() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Counts after each answer, so that commands which are sent after one answer don't count for the next one. */
export class CountingBrowser extends Browser {
  readonly #proxy: Proxy;
  trips = 0;

  constructor(issuer: string, proxy: Proxy) {
    super(issuer);
    this.#proxy = proxy;
  }

  override async request(url: string, init: RequestInit = {}): Promise<Page> {
    const page = await super.request(url, init);
    this.trips += await this.#proxy.count();
    return page;
  }
}
