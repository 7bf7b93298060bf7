// Rotating the password of Redis as docs/redis.md prints it: two passwords for a while, the secret's file, then the old one goes.
// The service keeps answering, and comes back by itself after the server has thrown it out.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ask, type RedisGroup, startCluster, startSentinel, until } from '../world/redis-groups.ts';
import { freePort, type RedisServer, startRedis } from '../world/servers.ts';
import { untilSignedIn } from '../fault/asking.ts';
import { introspect } from '../world/presented-tokens.ts';
import { type World, writeWorldConfig } from '../world/world.ts';
import { type ServiceProcess, startProcess } from '../world/process.ts';

const [OLD, NEW] = ['the-first-password', 'the-second-password'];
const RIGHTS = ['~postern:*', '+@read', '+@write', '+@scripting', '+@connection'];
const MORE_RIGHTS = ['+info', '+wait', '+cluster|slots', '+cluster|info'];

let folder: string;
let service: ServiceProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-password-'));
  return async () => {
    await service?.end('SIGKILL');
    service = undefined;
    await rm(folder, { recursive: true, force: true });
  };
});

const startOne = async (): Promise<Pick<RedisGroup, 'url' | 'nodes' | 'stop'>> => {
  const server: RedisServer = await startRedis();
  return { url: server.url, nodes: [server], stop: () => server.stop() };
};

it.each([
  ['one server', startOne],
  ['Sentinels', startSentinel],
  ['a Cluster', startCluster],
] as const)(
  'a new password is taken over by a reload, and a wrong one is refused, with %s',
  async (_, start) => {
    const group = await start();
    const onAll = (...args: readonly string[]) =>
      Promise.all(group.nodes.map((node) => ask(node, (redis) => redis.call('ACL', ...args))));
    try {
      await onAll('SETUSER', 'postern', 'on', `>${OLD}`, ...RIGHTS, ...MORE_RIGHTS);
      const secret = path.join(folder, 'store-url');
      const writeSecret = (password: string) =>
        writeFile(secret, group.url.replace('://', `://postern:${password}@`), { mode: 0o600 });
      await writeSecret(OLD);
      const ports = [await freePort(), await freePort()] as const;
      const written = await writeWorldConfig(folder, { store: `file:${secret}` }, ports);
      const management = `http://127.0.0.1:${ports[1]}`;
      const world: World = { ...written, folder, management, stop: () => Promise.resolve() };
      service = await startProcess(written.configFile);
      const { tokens } = await untilSignedIn(world);
      const isActive = async () => (await introspect(world, tokens.access_token))['active'] === true;
      const readyz = async () => (await fetch(`${management}/readyz`)).text();

      await writeSecret('a-wrong-password');
      process.kill(service.pid, 'SIGHUP');
      await until('the wrong password is refused', async () => (await readyz()).includes('WRONGPASS'));
      await until('the old one is used', isActive);

      await onAll('SETUSER', 'postern', `>${NEW}`);
      await writeSecret(NEW);
      process.kill(service.pid, 'SIGHUP');
      await until('the new one is taken over', async () => !(await readyz()).includes('WRONGPASS'));
      await onAll('SETUSER', 'postern', `<${OLD}`);
      for (const node of group.nodes) {
        await ask(node, (redis) => redis.call('CLIENT', 'KILL', 'USER', 'postern'));
      }
      await until('it is back', isActive);
      await until('it is ready', async () => (await readyz()).includes('"ready"'));
      await untilSignedIn(world);
      expect(service.stdout() + service.stderr()).not.toMatch(new RegExp(`${OLD}|${NEW}|next start`));
    } finally {
      await group.stop();
    }
  },
);
