// A TCP proxy between the service and its Redis that simulates a bad network: it delays, loses and cuts. Bytes keep their order.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type FaultProxy = {
  readonly port: number;
  /** URL of the Redis behind the proxy. */
  readonly url: string;
  /** Delays every answer. */
  delay(ms: number): void;
  /** Loses this share of the packets and sends them again `ms` later; the packets behind one wait for it. */
  lose(share: number, ms: number): void;
  /** Loses all answers after the next `after`. */
  swallowAnswers(after: number): void;
  /** Cuts every connection after this many more requests, before the last one is answered. */
  cutAfter(requests: number): void;
  /** Blocks all connections, old and new, until `heal`. */
  isolate(): void;
  heal(): void;
  /** Refuses connections until `accept`. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Cuts every connection; new ones work. */
  cut(): void;
  /** The number of requests so far. */
  requests(): number;
  /** Open connections to the server. */
  connections(): number;
  close(): Promise<void>;
};

export async function startProxy(serverPort: number): Promise<FaultProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let [delayMs, lossShare, lossMs] = [0, 0, 0];
  let answersLeft = Number.POSITIVE_INFINITY;
  let requestsLeft = Number.POSITIVE_INFINITY;
  let passed = 0;
  let isIsolated = false;

  function destroyAll(): void {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  }

  /** Forwards each piece with the delay of the network, and never before the previous one: timers alone keep no order. */
  function pump(to: Socket, slowMs: () => number): (data: Buffer) => void {
    const waiting: { readonly due: number; readonly data: Buffer }[] = [];
    function send(): void {
      for (let [next] = waiting; next !== undefined; [next] = waiting) {
        const wait = next.due - performance.now();
        if (wait > 0) {
          setTimeout(send, Math.ceil(wait));
          return;
        }
        waiting.shift();
        if (to.writable) to.write(next.data);
      }
    }
    return (data) => {
      const lost = Math.random() < lossShare ? lossMs : 0;
      waiting.push({ due: performance.now() + slowMs() + lost, data });
      if (waiting.length === 1) send();
    };
  }

  const server = createServer((near) => {
    if (isIsolated) {
      near.on('error', () => undefined).destroy();
      return;
    }
    const far = connect(serverPort, '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    const toServer = pump(far, () => 0);
    const toClient = pump(near, () => delayMs);
    near.setNoDelay(true).on('data', (data) => {
      passed += 1;
      requestsLeft -= 1;
      toServer(data);
      if (requestsLeft < 0) setTimeout(destroyAll, 0);
    });
    far.setNoDelay(true).on('data', (data) => {
      answersLeft -= 1;
      if (answersLeft >= 0 && requestsLeft >= 0) toClient(data);
    });
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        pairs.delete(pair);
        for (const end of pair) end.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async refuse() {
      destroyAll();
      await new Promise((resolve) => server.close(resolve));
    },
    async accept() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    delay: (ms) => {
      delayMs = ms;
    },
    lose: (share, ms) => {
      [lossShare, lossMs] = [share, ms];
    },
    swallowAnswers: (after) => {
      answersLeft = after;
    },
    cutAfter: (requests) => {
      requestsLeft = requests;
    },
    isolate() {
      isIsolated = true;
      destroyAll();
    },
    heal() {
      if (answersLeft !== Number.POSITIVE_INFINITY || requestsLeft < 0) destroyAll();
      [delayMs, lossShare, lossMs] = [0, 0, 0];
      [answersLeft, requestsLeft] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      isIsolated = false;
    },
    cut() {
      destroyAll();
      answersLeft = Number.POSITIVE_INFINITY;
    },
    requests: () => passed,
    connections: () => pairs.size,
    async close() {
      destroyAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
