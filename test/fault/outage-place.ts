// The parts that the outage tests break: a Redis with a password behind a network that can fail, a service on it, a signed-in
// user and a machine token. Builds and ends them.
import { Redis } from 'ioredis';
import { afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { machineToken, type SignedIn, signIn } from '../world/app.ts';
import { type OpenWorld, startWorld, type World } from '../world/world.ts';
import { RECOVERY_MS } from './asking.ts';
import { type FaultProxy, startProxy } from '../world/proxy.ts';
import { readiness } from '../world/requests.ts';

export const PASSWORD = 'the-store-password';
/** The last two let a test break the disk, and make the server load its data slowly. */
const DURABLE = '--appendonly yes --appendfsync always --enable-protected-configs yes';
const SETTINGS = `${DURABLE} --loading-process-events-interval-bytes 1024`.split(' ');

export type OutagePlace = {
  readonly server: RedisServer;
  readonly proxy: FaultProxy;
  readonly world: OpenWorld;
  /** A connection to Redis that bypasses the proxy. */
  readonly raw: Redis;
};

/** A signed-in user, a machine token, and the number of log lines before the test. */
type Begun = { readonly person: SignedIn; readonly machine: string; readonly logged: number };

/** One place for all tests of a file. Each test begins with a working store and its own tokens. */
export function useOutagePlace(): () => OutagePlace & Begun {
  let place: OutagePlace | undefined;
  let begun: Begun | undefined;
  beforeAll(async () => {
    const server = await startRedis({ password: PASSWORD, settings: SETTINGS });
    const proxy = await startProxy(server.port);
    const world = await startWorld({ store: `redis://:${PASSWORD}@127.0.0.1:${proxy.port}` });
    const raw = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    raw.on('error', () => undefined);
    place = { server, proxy, world, raw };
    return async () => {
      raw.disconnect();
      await world.stop();
      await proxy.close();
      await server.stop();
    };
  });
  beforeEach(async () => {
    const { world } = opened(place);
    await untilReady(world);
    // A busy machine may be late once before anything is broken.
    const person = await vi.waitFor(() => signIn(world), { timeout: 60_000, interval: 100 });
    const machine = await machineToken(world, 'reports.read');
    begun = { person, machine, logged: world.recorded.log.length };
  });
  afterEach(() => {
    place?.server.resume();
    place?.proxy.heal();
  });
  return () => ({ ...opened(place), ...opened(begun) });
}

function opened<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('there is no outage without a place for it');
  return value;
}

/** The log lines of this test about whether the store can be used, oldest first. */
function storeLines({ world, logged }: Pick<OutagePlace & Begun, 'world' | 'logged'>): readonly string[] {
  const lines = world.recorded.log
    .slice(logged)
    .map((line) => (JSON.parse(line) as { readonly msg?: string }).msg ?? '');
  return lines.filter((line) =>
    /^(can't reach )?the store( returned| rejects| answers| takes| is not| is available|:)/.test(line),
  );
}

/** Expects one line at the begin and one at the end. While a busy machine reconnects, the reason may change in between. */
export function expectLoggedOnce(place: Parameters<typeof storeLines>[0], reason: RegExp): void {
  const lines = storeLines(place);
  expect([lines[0], lines.at(-1)]).toEqual([expect.stringMatching(reason), 'the store is available again']);
  expect(lines).toEqual([...new Set(lines)]);
}

export async function untilReady(world: World): Promise<void> {
  await vi.waitFor(async () => expect((await readiness(world)).status).toBe(200), {
    timeout: RECOVERY_MS,
    interval: 20,
  });
}
