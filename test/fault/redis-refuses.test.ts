// A Redis that answers but refuses: /readyz shows the server's own reason, the gauge falls, the log has one line at the begin
// and one at the end, and no message claims that the server can't be reached.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MACHINE_MS } from '../world/clock.ts';
import { askRedis, untilTrue } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { startWorld, type World } from '../world/world.ts';
import { untilSignedIn } from './asking.ts';
import { expectLoggedOnce, untilReady, useOutagePlace } from './outage-place.ts';
import { readiness } from '../world/requests.ts';

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
    const folder = await mkdtemp(path.join(tmpdir(), 'postern-no-disk-'));
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
