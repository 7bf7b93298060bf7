// News of another master, at the worst moment: while the client is asking who the master is. The moment is too short for real
// Sentinels to hit each time (test/fault/redis-tls.test.ts does now and then), so the Sentinel here is a fixture; Redis is real.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseRedisUrl } from '../../src/config/redis-url.ts';
import { createRedisClient, type RedisClient } from '../../src/store/redis-client.ts';
import { ask, until } from '../redis-groups.ts';
import { type RedisServer, startRedis } from '../servers.ts';

const bulk = (text: string | number) => `$${String(text).length}\r\n${text}\r\n`;
const NEWS = ['message', '+switch-master', 'main 127.0.0.1 1 127.0.0.1 2'];

/** Speaks as much of a Sentinel as a client asks, and knows one master. */
class FixtureSentinel {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #subscribers = new Set<Socket>();
  readonly #masterPort: number;
  /** Tells the news before each answer to who the master is, and answers only when they have been heard. */
  isBusy = false;
  busyAnswers = 0;

  constructor(masterPort: number) {
    this.#masterPort = masterPort;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async start(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#open.delete(socket) && this.#subscribers.delete(socket));
    let answered = Promise.resolve();
    // Each command is an array of its own; all of them are short enough to come in one piece.
    socket.on('data', (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n)/)) {
        answered = answered.then(async () => void socket.write(await this.#answer(command, socket)));
      }
    });
  }

  async #answer(command: string, socket: Socket): Promise<string> {
    if (/get-master-addr-by-name/i.test(command)) {
      if (this.isBusy) await this.#tell();
      return `*2\r\n${bulk('127.0.0.1')}${bulk(this.#masterPort)}`;
    }
    if (/subscribe/i.test(command)) {
      this.#subscribers.add(socket);
      return `*3\r\n${bulk('subscribe')}${bulk('+switch-master')}:1\r\n`;
    }
    if (/sentinels/i.test(command)) return '*0\r\n';
    return /hello/i.test(command) ? "-ERR unknown command 'HELLO'\r\n" : '+OK\r\n';
  }

  async #tell(): Promise<void> {
    this.busyAnswers += 1;
    for (const socket of this.#subscribers) socket.write(`*3\r\n${NEWS.map(bulk).join('')}`);
    await sleep(50);
  }
}

let server: RedisServer;
let sentinel: FixtureSentinel;
let client: RedisClient;
beforeEach(async () => {
  server = await startRedis();
  sentinel = new FixtureSentinel(server.port);
  client = createRedisClient(parseRedisUrl(`redis+sentinel://127.0.0.1:${await sentinel.start()}/main`));
  await client.connect();
  await until('the client listens to the news', () => Promise.resolve(sentinel.subscribers === 1));
});
afterEach(async () => {
  await client.close();
  sentinel.stop();
  await server.stop();
});

const pings = async () => (await client.commands.ping()) === 'PONG';
const cut = () => ask(server, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));

it('RD-14: who hears of a new master while asking for it asks again, and does not give up for good', async () => {
  sentinel.isBusy = true;
  await cut();
  await until('the master is found again', pings, 5000);
  expect(sentinel.busyAnswers).toBeGreaterThan(0);
});

it('who has closed the store in the meantime is not connected again', async () => {
  sentinel.isBusy = true;
  await cut();
  await until('the Sentinel is asked', () => Promise.resolve(sentinel.busyAnswers > 0));
  await client.close();
  await sleep(300);
  expect(client.commands.status).toBe('end');
});
