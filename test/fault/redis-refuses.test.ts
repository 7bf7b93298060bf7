// A Redis that answers but refuses: /readyz shows the server's own reason, the gauge falls, the log has one line at the begin
// and one at the end, and no message claims that the server can't be reached. A Redis that would lose tokens, or no longer accepts the
// service: /readyz reports it, and the service doesn't start on it.
import { rm } from 'node:fs/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MACHINE_MS } from '../world/clock.ts';
import { askRedis, untilTrue } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { startWorld, type World } from '../world/world.ts';
import { testFolder } from '../world/temp-folder.ts';
import { untilSignedIn } from './asking.ts';
import { expectLoggedOnce, PASSWORD, untilReady, useOutagePlace } from './outage-place.ts';
import { post, readiness } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';

/** Readiness must show the problem within this time. */
const NAMED_MS = 10_000 + MACHINE_MS;

const place = useOutagePlace();

async function gauge({ management }: World): Promise<string | undefined> {
  const text = await (await fetch(`${management}/metrics`)).text();
  return /^postern_ready (\d)$/m.exec(text)?.[1];
}

/** `problem` is the whole text of readiness, and the begin of the log line. */
async function expectNamed(problem: RegExp): Promise<void> {
  const { world } = place();
  await vi.waitFor(
    async () => {
      const { status, problems } = await readiness(world);
      expect([status, problems]).toEqual([503, [expect.stringMatching(problem)]]);
    },
    { timeout: NAMED_MS, interval: 50 },
  );
  expect(await gauge(world)).toBe('0');
}

async function expectOver(problem: RegExp): Promise<void> {
  const { world } = place();
  await untilReady(world);
  expect(await gauge(world)).toBe('1');
  await untilSignedIn(world);
  expectLoggedOnce(place(), problem);
}

describe('a Redis that takes no writes is not ready', () => {
  it('because its memory is full', async () => {
    const problem = /^the store rejects writes: OOM /;
    await place().raw.config('SET', 'maxmemory', '1');
    await expectNamed(problem);
    await place().raw.config('SET', 'maxmemory', '0');
    await expectOver(problem);
  });

  it('because it could not save itself to disk', async () => {
    const problem = /^the store rejects writes: MISCONF .*unable to persist to disk/;
    const { raw } = place();
    const [, own = ''] = await raw.config('GET', 'dir');
    const folder = testFolder();
    await raw.config('SET', 'dir', folder);
    await rm(folder, { recursive: true });
    await raw.config('SET', 'save', '3600 1');
    await raw.bgsave();
    await expectNamed(problem);
    await raw.config('SET', 'dir', own);
    await raw.bgsave();
    await untilTrue('it is saved', async () =>
      (await raw.info('persistence')).includes('rdb_last_bgsave_status:ok'),
    );
    await raw.config('SET', 'save', '');
    await expectOver(problem);
  });

  it('because its user lost a right, whichever it is', async () => {
    const problem =
      /^the store rejects writes: (NOPERM .*|ERR The user executing the script can't run this command or subcommand$)/;
    const { raw, world } = place();
    for (const right of ['-hset', '-pexpire', '-set', '-zadd', '-unlink']) {
      await raw.acl('SETUSER', 'default', right);
      await expectNamed(problem);
      await raw.acl('SETUSER', 'default', '+@all');
      await untilReady(world);
    }
    await untilSignedIn(world);
  });

  it('because the replicas that it must have are not there', async () => {
    const problem = /^the store rejects writes: NOREPLICAS /;
    await place().raw.config('SET', 'min-replicas-to-write', '1');
    await expectNamed(problem);
    await place().raw.config('SET', 'min-replicas-to-write', '0');
    await expectOver(problem);
  });
});

it('a Redis that answers with an error because its user lost the right to read is not ready, and not "out of reach"', async () => {
  const problem = /^the store returned an error: NOPERM .*hmget/i;
  await place().raw.acl('SETUSER', 'default', '-hmget');
  await expectNamed(problem);
  await place().raw.acl('SETUSER', 'default', '+@all');
  await expectOver(problem);
});

describe('a Redis whose writes must be confirmed', () => {
  let master: RedisServer;
  let replica: RedisServer;
  let world: World;
  beforeEach(async () => {
    master = await startRedis({ settings: ['--repl-diskless-sync-delay', '0'] });
    replica = await startRedis({ settings: ['--replicaof', `127.0.0.1 ${master.port}`] });
    // A replica that still loads its data is already listed as online; it confirms nothing until it has loaded.
    await untilTrue('the replica confirms', async () =>
      askRedis(master, async (redis) => {
        await redis.multi().set('probe', '1').del('probe').exec();
        const link = await askRedis(replica, (other) => other.info('replication'));
        return link.includes('master_link_status:up') && (await redis.wait(1, 500)) === 1;
      }),
    );
    world = await startWorld({ store: `${master.url}?wait=1` });
    return async () => {
      replica.resume();
      await world.stop();
      await replica.stop();
      await master.stop();
    };
  });

  it('is not ready without the replica that confirms, and says which setting asks for it', async () => {
    await untilTrue('it is ready', async () => (await readiness(world)).status === 200);
    await replica.kill();
    await vi.waitFor(
      async () =>
        expect(await readiness(world)).toMatchObject({
          status: 503,
          problems: [
            expect.stringMatching(/^the store rejects writes: it has no connected replica .*\?wait=0/),
          ],
        }),
      { timeout: NAMED_MS, interval: 50 },
    );
    expect(await gauge(world)).toBe('0');
    await replica.restart();
    await untilTrue('it is ready again', async () => (await readiness(world)).status === 200);
  });
});

describe('a Redis that is not safe', () => {
  it('RD-22: is named at /readyz, with the setting, as soon as it begins to throw keys away', async () => {
    const { raw, world } = place();
    await raw.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await readiness(world)).toMatchObject({
      status: 503,
      problems: [
        'the store is unsafe: its maxmemory-policy is allkeys-lru, which evicts tokens and keys; set it to noeviction',
      ],
    });
    await raw.config('SET', 'maxmemory-policy', 'noeviction');
    expect((await readiness(world)).status).toBe(200);
  });

  it('RD-22, RD-26: is not started on, and the reason names the setting and no password', async () => {
    const { raw, server } = place();
    const start = () => startWorld({ store: `redis://:${PASSWORD}@127.0.0.1:${server.port}` });
    await raw.config('SET', 'maxmemory-policy', 'volatile-lru');
    await expect(start()).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+ can't be used: its maxmemory-policy is volatile-lru/,
    );
    await raw.config('SET', 'maxmemory-policy', 'noeviction');
    await raw.replicaof('127.0.0.1', '1');
    await expect(start()).rejects.toThrow(/it is a slave, not the master$/);
    await raw.replicaof('NO', 'ONE');
    await expect(startWorld({ store: `redis://:wrong-one@127.0.0.1:${server.port}` })).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+ can't be used: WRONGPASS (?!.*wrong-one)/,
    );
  });

  it('RD-26: is neither started on nor used without the database that the URL names, and nothing is written to database 0', async () => {
    const { raw, server } = place();
    const start = (rest: string) => startWorld({ store: `redis://${rest}` });
    await expect(start(`:${PASSWORD}@127.0.0.1:${server.port}/99`)).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+\/99 can't be used: ERR DB index is out of range$/,
    );
    await raw.acl('SETUSER', 'postern', 'on', '>pw', '~*', '&*', '+@all');
    const other = await start(`postern:pw@127.0.0.1:${server.port}/3`);
    const before = await raw.dbsize();
    await raw.acl('SETUSER', 'postern', '-select');
    await raw.client('KILL', 'USER', 'postern');
    await untilTrue('it is not ready', async () => (await readiness(other)).status === 503);
    const answer = await post(other, '/oauth/revoke', { token: 'x' }, { authorization: basic('svc') });
    expect(answer.status).toBe(503);
    expect(await raw.dbsize()).toBe(before);
    await raw.acl('SETUSER', 'postern', '+select');
    await untilTrue('it is ready', async () => (await readiness(other)).status === 200);
    await other.stop();
  });

  it('RD-26: is not ready for a user who may not read our keys', async () => {
    const { raw, server } = place();
    await raw.acl('SETUSER', 'postern', 'reset', 'on', '>pw', '~other:*', '+@all');
    const url = `redis://postern:pw@127.0.0.1:${server.port}`;
    await expect(startWorld({ store: url })).rejects.toThrow(/NOPERM|not be reached/);
  });
});
