// What the outage tests break: a Redis with a password behind a network that can fail, a service on it, somebody who is signed
// in and a machine token. Owns building and ending them.
import { Redis } from 'ioredis';
import { afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { machineToken, type SignedIn, signIn } from '../world/app.ts';
import { type OpenWorld, startWorld, type World } from '../world/world.ts';
import { RECOVERY_MS } from './asking.ts';
import { type FaultProxy, startProxy } from '../world/proxy.ts';
import { readiness } from '../world/requests.ts';

export const PASSWORD = 'the-store-password';
/** The last two let a test break the disk, and make the server take its time to load what it has. */
const DURABLE = '--appendonly yes --appendfsync always --enable-protected-configs yes';
const SETTINGS = `${DURABLE} --loading-process-events-interval-bytes 1024`.split(' ');

export type OutagePlace = {
  readonly server: RedisServer;
  readonly proxy: FaultProxy;
  readonly world: OpenWorld;
  /** Past the proxy. */
  readonly raw: Redis;
};

/** Somebody who is signed in, a machine, and how many lines the log had before. */
type Begun = { readonly person: SignedIn; readonly machine: string; readonly logged: number };

/** One place for all tests of a file, each of which begins well and with tokens of its own. */
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

/** What the log says in this test of whether the store can be used, oldest first. */
function storeLines({ world, logged }: Pick<OutagePlace & Begun, 'world' | 'logged'>): readonly string[] {
  const lines = world.recorded.log
    .slice(logged)
    .map((line) => (JSON.parse(line) as { readonly msg?: string }).msg ?? '');
  return lines.filter((line) =>
    /^(can't reach )?the store( returned| rejects| answers| takes| is not| is available|:)/.test(line),
  );
}

/** One line when it begins and one when it is over. While a busy machine connects again, it may have another reason in between. */
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
