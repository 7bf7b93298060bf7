// Another master, at the worst moment: while the client is asking who the master is, or before it listens, or while one Sentinel
// is behind the others. The moments are too short for real Sentinels to hit each time (test/fault/redis-tls.test.ts does now and
// then), so the Sentinels here are fixtures; Redis is real.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseRedisUrl } from '../../src/config/redis-url.ts';
import { createRedisClient, type RedisClient } from '../../src/store/redis/client.ts';
import { ask, until } from '../redis-groups.ts';
import { type RedisServer, startRedis } from '../servers.ts';
import { FixtureSentinel } from './fixtures/sentinel.ts';

let servers: readonly [RedisServer, RedisServer];
let sentinels: readonly [FixtureSentinel, FixtureSentinel];
let client: RedisClient | undefined;
beforeAll(async () => {
  servers = await Promise.all([startRedis(), startRedis()]);
});
beforeEach(() => {
  const first = { port: servers[0].port, epoch: 1 };
  sentinels = [new FixtureSentinel(first), new FixtureSentinel(first)];
});
afterEach(async () => {
  await client?.close();
  client = undefined;
  for (const sentinel of sentinels) sentinel.stop();
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

async function connect(...asked: readonly FixtureSentinel[]): Promise<RedisClient> {
  const ports = await Promise.all(asked.map((sentinel) => sentinel.start()));
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  client = createRedisClient(parseRedisUrl(`redis+sentinel://${hosts}/main`));
  await client.connect();
  await until('the client listens, and has asked each once more since', () =>
    Promise.resolve(asked.every(({ subscriptions, answers }) => subscriptions > 0 && answers > 1)),
  );
  return client;
}

const cut = () => ask(servers[0], (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
const isOn = async ({ commands }: RedisClient, { port }: RedisServer) =>
  (await commands.info('server')).includes(`tcp_port:${port}`);

describe('a client behind Sentinels', () => {
  it('RD-14: that hears of a new master while asking for it asks again, and does not give up for good', async () => {
    const connected = await connect(sentinels[0]);
    sentinels[0].isBusy = true;
    await cut();
    await until('the master is found again', () => isOn(connected, servers[0]), 5000);
    expect(sentinels[0].busyAnswers).toBeGreaterThan(0);
  });

  it('that is closed meanwhile is not connected again', async () => {
    const connected = await connect(sentinels[0]);
    sentinels[0].isBusy = true;
    await cut();
    await until('the Sentinel is asked', () => Promise.resolve(sentinels[0].busyAnswers > 0));
    await connected.close();
    const { busyAnswers } = sentinels[0];
    await sleep(1000);
    expect([sentinels[0].busyAnswers, sentinels[0].subscribers]).toEqual([busyAnswers, 0]);
    expect(connected.commands.status).not.toBe('ready');
  });

  it('RD-20: takes the newest of their words, and not that of one who is behind', async () => {
    sentinels[1].master = { port: servers[1].port, epoch: 2 };
    expect(await isOn(await connect(...sentinels), servers[1])).toBe(true);
  });

  it('RD-20: takes what the others say where one is away', async () => {
    const connected = await connect(...sentinels);
    sentinels[0].stop();
    await cut();
    await until('the master is found again', () => isOn(connected, servers[0]), 5000);
  });

  it('RD-20: leaves a master that was replaced before it listened', async () => {
    sentinels[0].masterBeforeListening = { port: servers[1].port, epoch: 2 };
    const connected = await connect(...sentinels);
    await until('it is on the new one', () => isOn(connected, servers[1]), 5000);
  });

  it('RD-20: leaves it too where the Sentinel gives no answer at first', async () => {
    sentinels[0].masterBeforeListening = { port: servers[1].port, epoch: 2 };
    sentinels[0].refusals = 2;
    const connected = await connect(sentinels[0]);
    await until('it is on the new one', () => isOn(connected, servers[1]), 5000);
    expect(sentinels[0].refusals).toBe(0);
  });

  it('stays where it is while one of them is behind', async () => {
    for (const sentinel of sentinels) sentinel.master = { port: servers[1].port, epoch: 2 };
    sentinels[0].masterBeforeListening = { port: servers[0].port, epoch: 1 };
    const connected = await connect(...sentinels);
    await sleep(500);
    expect(await isOn(connected, servers[1])).toBe(true);
    expect(sentinels.map(({ subscriptions }) => subscriptions)).toEqual([1, 1]);
  });
});
