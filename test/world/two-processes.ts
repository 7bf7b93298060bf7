// Two or more service processes on one store, as behind a load balancer: finds faults that one process alone can't show.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startProxy } from './proxy.ts';
import { freePort, startRedis } from './servers.ts';
import { IS_LONG_RUN } from './rounds.ts';
import { type ServiceProcess, startProcess } from './process.ts';
import {
  GENEROUS,
  seedStore,
  writeWorldConfig,
  type StoreName,
  type World,
  type WorldOptions,
} from './world.ts';

export type TwoProcesses = {
  /** All nodes have the same issuer; only `base` differs. */
  readonly nodes: readonly [World, World, ...World[]];
  /** The store, as in the configuration files: `lmdb:/folder` or the URL of Redis. */
  readonly store: string;
  /** Standard error of the processes, except for lines about a late Redis. */
  readonly errors: () => string;
  /**
   * Repeats `act`, at most twice, if it failed and one of its requests was answered with 503: a busy machine starves Redis. Nothing else
   * is repeated, so check the result of `act` outside.
   */
  unlessLate<Result>(act: () => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
};

type Further = {
  readonly further?: number;
  readonly crowd?: number;
  /** In a long run, delays each answer of Redis, so that more can happen between a read and the write after it. On a machine that is
   * busy with the whole suite, a request may then be answered with 503. */
  readonly slowMs?: number;
  /** Environment variables of each process. */
  readonly env?: Readonly<Record<string, string>>;
};

export async function startTwoProcesses(
  storeName: StoreName,
  config: Readonly<Record<string, unknown>> = {},
  people: WorldOptions['people'] = {},
  { further = 0, crowd = 0, slowMs = 0, env }: Further = {},
): Promise<TwoProcesses> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-two-'));
  const redis = storeName === 'redis' ? await startRedis() : undefined;
  const proxy =
    redis === undefined || slowMs === 0 || !IS_LONG_RUN ? undefined : await startProxy(redis.port);
  proxy?.delay(slowMs);
  const store =
    redis && proxy
      ? redis.url.replace(String(redis.port), String(proxy.port))
      : (redis?.url ?? `lmdb:${path.join(folder, 'data')}`);
  const firstPort = await freePort();
  const issuer = `http://127.0.0.1:${firstPort}`;
  const running: ServiceProcess[] = [];

  async function startNode(name: string, port: number): Promise<World> {
    const own = path.join(folder, name);
    await mkdir(own);
    const options = {
      store,
      issuer,
      config: { ...GENEROUS, log: { level: 'error' }, ...config },
      people,
      crowd,
    };
    // The management listener takes a free port, which no test needs.
    const written = await writeWorldConfig(own, options, [port, 0]);
    if (running.length === 0) await seedStore(written.configFile);
    const node = await startProcess(written.configFile, undefined, undefined, env);
    running.push(node);
    return { ...written, stop: async () => void (await node.end()) };
  }

  const isOfLateStore = (line: string) => line.includes("can't reach the store");
  const lines = () => running.flatMap((node) => node.stderr().split('\n'));

  async function unlessLate<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      let wasLate = false;
      const look = (message: unknown) =>
        void (wasLate ||= (message as { response: { statusCode: number } }).response.statusCode === 503);
      subscribe('undici:request:headers', look);
      try {
        return await act();
      } catch (error) {
        if (tries === 3 || !wasLate) throw error;
        await new Promise((resolve) => setTimeout(resolve, 1000));
      } finally {
        unsubscribe('undici:request:headers', look);
      }
    }
  }

  async function stop(): Promise<void> {
    await Promise.all(running.map(async (node) => node.end()));
    await proxy?.close();
    await redis?.stop();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    const first = await startNode('a', firstPort);
    const second = await startNode('b', await freePort());
    const others: World[] = [];
    for (let index = 0; index < further; index += 1)
      others.push(await startNode(`further${index}`, await freePort()));
    return {
      nodes: [first, second, ...others],
      store,
      errors: () =>
        lines()
          .filter((line) => !isOfLateStore(line))
          .join(''),
      unlessLate,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
