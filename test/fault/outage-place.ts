// What the outage tests break: a Redis with a password behind a network that can fail, a service on it, somebody who is signed
// in and a machine token. Owns building and ending them.
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { machineToken, type SignedIn, signIn } from '../world/app.ts';
import { type OpenWorld, startWorld, type World } from '../world/world.ts';
import { readiness, RECOVERY_MS } from './asking.ts';
import { type FaultProxy, startProxy } from './proxy.ts';

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
  readonly person: SignedIn;
  readonly machine: string;
  stop(): Promise<void>;
};

export async function startOutagePlace(): Promise<OutagePlace> {
  const server = await startRedis({ password: PASSWORD, settings: SETTINGS });
  const proxy = await startProxy(server.port);
  const world = await startWorld({ store: `redis://:${PASSWORD}@127.0.0.1:${proxy.port}` });
  const raw = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  raw.on('error', () => undefined);
  return {
    server,
    proxy,
    world,
    raw,
    // A busy machine may be late once before anything is broken.
    person: await vi.waitFor(() => signIn(world), { timeout: 10_000, interval: 100 }),
    machine: await machineToken(world, 'reports.read'),
    async stop() {
      server.resume();
      raw.disconnect();
      await world.stop();
      await proxy.close();
      await server.stop();
    },
  };
}

/** What the log says of whether the store can be used, oldest first. */
export function storeLines({ recorded }: OpenWorld): readonly string[] {
  const lines = recorded.log.map((line) => (JSON.parse(line) as { readonly msg?: string }).msg ?? '');
  return lines.filter((line) => /^(can't reach )?the store( answers| takes| is not| can be|:)/.test(line));
}

export async function untilReady(world: World): Promise<void> {
  await vi.waitFor(async () => expect((await readiness(world)).status).toBe(200), {
    timeout: RECOVERY_MS,
    interval: 20,
  });
}
