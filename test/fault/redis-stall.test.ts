// A real process and its Redis: a service that was suspended doesn't take its own pause for an outage, and in an outage nothing queues up.
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { MACHINE_MS } from '../world/clock.ts';
import { machineToken } from '../world/app.ts';
import { introspection } from '../world/presented-tokens.ts';
import { GENEROUS, type World, writeWorldConfig } from '../world/world.ts';
import { askRedis } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { type ServiceProcess, startProcess } from '../world/process.ts';
import { forTest } from '../world/for-test.ts';
import { testFolder } from '../world/temp-folder.ts';
import { stateful, untilSignedIn } from './asking.ts';

let redis: RedisServer;
let service: ServiceProcess;
let world: World;
beforeEach(async () => {
  redis = await startRedis();
  onTestFinished(() => redis.stop());
  world = await writeWorldConfig(testFolder(), { store: redis.url, config: GENEROUS });
  service = forTest(await startProcess(world.configFile));
});

it('a stall of 500 ms makes no answer 503, whatever is asked, and no line of the log', async () => {
  const acts = Object.values(stateful(world, await untilSignedIn(world), await machineToken(world)));
  const statuses: number[] = [];
  let isOver = false;
  const callers = Array.from({ length: 20 }, async (_, place) => {
    for (let turn = place; !isOver; turn += 1) {
      const answer = await acts[turn % acts.length]?.();
      if (answer !== undefined) statuses.push(answer.status);
    }
  });
  for (let round = 0; round < 8; round += 1) {
    await sleep(100);
    process.kill(service.pid, 'SIGSTOP');
    await sleep(500);
    process.kill(service.pid, 'SIGCONT');
  }
  await sleep(100);
  isOver = true;
  await Promise.all(callers);
  expect(statuses.length).toBeGreaterThan(100);
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  expect(service.stdout() + service.stderr()).not.toMatch(/can't reach the store/);
});

it('RD-15: with a silent Redis a thousand requests at once are all refused, and wait in no queue', async () => {
  const token = await machineToken(world, 'reports.read');
  async function refuseCrowd(): Promise<void> {
    const crowd = await Promise.all(Array.from({ length: 1000 }, () => introspection(world, token)));
    for (const { status, headers } of crowd) {
      expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]/)]);
    }
  }
  redis.pause();
  // These commands are sent, and get no answer.
  await refuseCrowd();
  redis.resume();
  await vi.waitFor(async () => expect((await introspection(world, token)).status).toBe(200), {
    timeout: MACHINE_MS,
  });

  await askRedis(redis, (own) => own.config('RESETSTAT'));
  redis.pause();
  expect((await introspection(world, token)).status).toBe(503);
  // The connection is given up now; only the first command on the next one is sent.
  await refuseCrowd();
  redis.resume();
  const stats = await askRedis(redis, (own) => own.info());
  expect(Number(/total_commands_processed:(\d+)/.exec(stats)?.[1])).toBeLessThan(200);
  // The test's own connection, the service's, and one that is being closed.
  expect(Number(/connected_clients:(\d+)/.exec(stats)?.[1])).toBeLessThanOrEqual(3);
  expect(service.stderr()).not.toMatch(/unhandled/i);
});
