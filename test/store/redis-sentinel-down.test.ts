// A Sentinel that goes away is none of the store's business while the others are there: nothing fails, and nothing is printed
// between the lines of the log.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openRedis } from '../../src/store/redis/redis-store.ts';
import type { Store } from '../../src/store/store.ts';
import { askRedis, type SentinelGroup, startSentinel } from '../world/redis-groups.ts';
import { uniqueName } from './conformance.ts';

let group: SentinelGroup;
let store: Store;
beforeEach(async () => {
  group = await startSentinel();
  store = await openRedis({ url: group.url, now: Date.now });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
  await group.stop();
});

it('a Sentinel that ends is missed by nobody, and nothing is printed', async () => {
  const printed = vi.spyOn(console, 'error').mockReturnValue();
  const [sentinel] = group.sentinels;
  if (sentinel === undefined) throw new TypeError('there is no Sentinel');
  // It ends without an answer.
  await askRedis(sentinel, (redis) => redis.call('SHUTDOWN')).catch(() => undefined);
  const endsAt = performance.now() + 2000;
  while (performance.now() < endsAt) {
    const key = uniqueName();
    await store.records.save({ kind: 'Session', key, payload: 'p', ttlSeconds: 60 });
    expect(await store.records.find('Session', key)).toMatchObject({ payload: 'p' });
    await sleep(100);
  }
  expect(printed.mock.calls).toEqual([]);
});
