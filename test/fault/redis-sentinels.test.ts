// Sentinels that could not replace a master any more: nothing has failed yet, and an operator hears of it all the same.
import { beforeEach, expect, it, vi } from 'vitest';
import { runCheck } from '../../src/doctor/check.ts';
import { checkStore } from '../../src/doctor/configured.ts';
import { ask, type SentinelGroup, startSentinel } from '../world/redis-groups.ts';
import { signIn } from '../world/app.ts';
import { type OpenWorld, startWorld } from '../world/world.ts';
import { readiness } from './asking.ts';

const SOON = { timeout: 60_000, interval: 200 };

let group: SentinelGroup;
let world: OpenWorld;
beforeEach(async () => {
  group = await startSentinel();
  world = await startWorld({ store: group.url });
  return async () => {
    await world.stop();
    await group.stop();
  };
});

async function warnings(): Promise<readonly string[]> {
  const text = await (await fetch(`${world.management}/metrics`)).text();
  const found = [...text.matchAll(/^postern_store_warning\{warning="(sentinel_\w+)"\} 1$/gm)];
  return found.map(([, name]) => name ?? '');
}

it('a lost quorum is a line of the log, a metric and a finding of the doctor, and the service goes on', async () => {
  expect(await warnings()).toEqual([]);
  const [first, second] = group.sentinels;
  const end = (sentinel: typeof first) =>
    ask(sentinel ?? { port: 0 }, (redis) => redis.call('SHUTDOWN')).catch(() => undefined);
  await end(first);
  await vi.waitFor(async () => expect(await warnings()).toEqual(['sentinel_silent']), SOON);
  await end(second);
  await vi.waitFor(async () => expect(await warnings()).toEqual(['sentinel_quorum']), SOON);
  const lines = world.recorded.log.filter((line) =>
    line.includes("its Sentinels can't replace a master that dies"),
  );
  expect(lines).toEqual([expect.stringContaining('NOQUORUM')]);
  const store = { engine: 'redis', url: group.url } as const;
  expect(await runCheck('store', (report) => checkStore({ store }, report))).toContainEqual(
    expect.objectContaining({
      message: expect.stringContaining("its Sentinels can't replace a master that dies: NOQUORUM") as string,
    }),
  );
  expect((await readiness(world)).status).toBe(200);
  await signIn(world);
});
