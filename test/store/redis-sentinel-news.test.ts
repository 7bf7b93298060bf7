// A new master at the worst moment: while the client asks for the master. The moment is too short to hit with real
// Sentinels each time, so the Sentinels here are fixtures; Redis is real.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseRedisUrl } from '../../src/config/redis-url.ts';
import { createSingleClient, type RedisClient } from '../../src/store/redis/client.ts';
import { askRedis, untilTrue } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { FixtureSentinel } from './fixtures/sentinel.ts';

let servers: readonly [RedisServer, RedisServer];
let sentinels: readonly [FixtureSentinel, FixtureSentinel];
let client: RedisClient | undefined;
beforeAll(async () => {
  servers = await Promise.all([startRedis(), startRedis()]);
});
beforeEach(() => {
  const [{ port }] = servers;
  sentinels = [new FixtureSentinel(port), new FixtureSentinel(port)];
});
afterEach(async () => {
  await client?.close();
  client = undefined;
  for (const sentinel of sentinels) sentinel.stop();
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

async function connectTo(...asked: readonly FixtureSentinel[]): Promise<RedisClient> {
  const ports = await Promise.all(asked.map((sentinel) => sentinel.start()));
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  client = createSingleClient(parseRedisUrl(`redis+sentinel://${hosts}/main`));
  await client.connect();
  await untilTrue('the client listens to each', () =>
    Promise.resolve(asked.every(({ subscribers }) => subscribers > 0)),
  );
  return client;
}

const cut = () =>
  askRedis(servers[0], (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
const isOn = async ({ commands }: RedisClient, { port }: RedisServer) =>
  (await commands.info('server')).includes(`tcp_port:${port}`);

describe('a client behind Sentinels', () => {
  it('RD-14: that hears of a new master while asking for it asks again, and does not give up for good', async () => {
    const connected = await connectTo(sentinels[0]);
    sentinels[0].busyFor = 3;
    await cut();
    await untilTrue('the master is found again', () => isOn(connected, servers[0]));
    expect(sentinels[0].busyAnswers).toBe(3);
  });

  it('that is closed meanwhile is not connected again', async () => {
    const connected = await connectTo(sentinels[0]);
    sentinels[0].busyFor = Number.POSITIVE_INFINITY;
    await cut();
    await untilTrue('the Sentinel is asked', () => Promise.resolve(sentinels[0].busyAnswers > 0));
    await connected.close();
    const { busyAnswers } = sentinels[0];
    await sleep(1000);
    expect([sentinels[0].busyAnswers, sentinels[0].subscribers]).toEqual([busyAnswers, 0]);
    expect(connected.commands.status).not.toBe('ready');
  });

  it('RD-20: takes what the others say where one is away', async () => {
    const connected = await connectTo(...sentinels);
    sentinels[0].stop();
    await cut();
    await untilTrue('the master is found again', () => isOn(connected, servers[0]));
  });

  it('RD-20: leaves its master as soon as one of them announces another, though it still answers', async () => {
    const connected = await connectTo(...sentinels);
    for (const sentinel of sentinels) sentinel.master = servers[1].port;
    sentinels[1].announce();
    await untilTrue('it is on the new one', () => isOn(connected, servers[1]));
  });
});
