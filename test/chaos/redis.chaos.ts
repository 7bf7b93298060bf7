// RD-30, RD-31: three nodes under load on real Sentinels and on a real Cluster, while masters, replicas and nodes are killed and
// frozen, one after the other. POSTERN_CHAOS_SECONDS says for how long each; 60 when it doesn't.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type RedisGroup, startCluster, startSentinel, until } from '../redis-groups.ts';
import { findServer, freePort, type RedisServer } from '../servers.ts';
import { startProcess } from '../world/process.ts';
import { type World, writeWorldConfig } from '../world/world.ts';
import { createClients } from './clients.ts';
import { History } from './history.ts';

const SECONDS = Number(process.env['POSTERN_CHAOS_SECONDS'] ?? 60);
const NODES = 3;
const CLIENTS = 8;
const WIDE = { client: '1000000/1m', address: '1000000/1m', failures: '1000000/1m' };
const CONFIG = {
  rate_limits: {
    token: WIDE,
    introspection: { client: '1000000/1m', failures: '1000000/1m', unknown: '1000000/1m' },
    revocation: { client: '1000000/1m', failures: '1000000/1m' },
    authorization: { address: '1000000/1m' },
  },
};
/** What is killed comes back with what it had. */
const DURABLE = ['--appendonly', 'yes'];

function pick<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T;
}

async function mastersOf(group: RedisGroup): Promise<readonly RedisServer[]> {
  const found = await Promise.all(
    group.nodes.map(async (node) => {
      const info = await group.ask(node, (redis) => redis.info('replication')).catch(() => '');
      return info.includes('role:master') && !info.includes('connected_slaves:0') ? [node] : [];
    }),
  );
  return found.flat();
}

/** Every master has its replicas: one more fault loses nothing that was confirmed. */
async function untilWhole(group: RedisGroup, masters: number): Promise<void> {
  await until(
    'all is whole',
    async () => {
      const infos = await Promise.all(
        group.nodes.map((node) => group.ask(node, (redis) => redis.info('replication'))),
      );
      const online = infos.join('').split('state=online').length - 1;
      return online === group.nodes.length - masters && (await mastersOf(group)).length === masters;
    },
    60_000,
  );
}

async function startNodes(group: RedisGroup, folder: string) {
  const nodes = [];
  let issuer: string | undefined;
  for (let index = 0; index < NODES; index += 1) {
    const own = await mkdtemp(path.join(folder, 'node-'));
    const ports = [await freePort(), await freePort()] as const;
    const options = { store: group.url, config: CONFIG, ...(issuer && { issuer }) };
    const written = await writeWorldConfig(own, options, ports);
    issuer = written.issuer;
    const base = `http://127.0.0.1:${ports[0]}`;
    const world: World = { ...written, base, folder: own, management: '', stop: () => Promise.resolve() };
    nodes.push({ world, process: await startProcess(written.configFile) });
  }
  return nodes;
}

it.each([
  ['Sentinels', startSentinel, 1],
  ['a Cluster', startCluster, 3],
] as const)(
  'RD-30, RD-31: no double spend and no lost revocation on %s',
  async (_, start, masters) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'postern-chaos-'));
    const group = await start(DURABLE);
    const nodes = await startNodes(group, folder);
    const history = new History();
    const clients = createClients(
      nodes.map(({ world }) => world),
      history,
    );
    const end = performance.now() + SECONDS * 1000;
    const isOver = () => performance.now() > end;

    const faults: Record<string, () => Promise<void>> = {
      async 'a master is killed'() {
        const master = pick(await mastersOf(group));
        await master.kill();
        await until('another master', async () => (await mastersOf(group)).length >= masters, 30_000).catch(
          () => undefined,
        );
        await sleep(500);
        await master.restart();
      },
      async 'a master is frozen'() {
        const master = pick(await mastersOf(group));
        master.pause();
        await sleep(500 + Math.random() * 4000);
        master.resume();
      },
      async 'a replica is frozen'() {
        const known = await mastersOf(group);
        const replica = pick(group.nodes.filter((node) => !known.includes(node)));
        replica.pause();
        await sleep(500 + Math.random() * 2000);
        replica.resume();
      },
      async 'a node is killed'() {
        const node = pick(nodes);
        await node.process.end('SIGKILL');
        node.process = await startProcess(node.world.configFile);
      },
    };
    const happened: string[] = [];
    async function breakThings(): Promise<void> {
      while (!isOver()) {
        await sleep(1500);
        const name = pick(Object.keys(faults));
        happened.push(name);
        await faults[name]?.();
        await untilWhole(group, masters);
      }
    }

    try {
      await Promise.all([breakThings(), ...Array.from({ length: CLIENTS }, () => clients.run(isOver))]);
      process.stdout.write(`${JSON.stringify({ happened, ...history.counts }, undefined, 2)}\n`);
      expect(clients.complaints).toEqual([]);
      expect(history.violations()).toEqual([]);
      expect(history.counts['redeem done']).toBeGreaterThan(0);
      expect(history.counts['revoke done']).toBeGreaterThan(0);
    } finally {
      group.nodes.forEach((node) => node.resume());
      await Promise.all(nodes.map(({ process: running }) => running.end('SIGKILL')));
      await group.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  SECONDS * 1000 + 240_000,
);

it('says which server this was', () => {
  const [chosen, valkey] = [process.env['POSTERN_TEST_REDIS'], findServer('valkey-server')];
  const hint =
    valkey === undefined
      ? 'no valkey-server was found: install it, and run this again with POSTERN_TEST_REDIS=PATH'
      : `to run it on Valkey: POSTERN_TEST_REDIS=${valkey}`;
  process.stdout.write(`all of this ran on ${chosen ?? findServer('redis-server')}; ${hint}\n`);
});
