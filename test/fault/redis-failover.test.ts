// A failover under real Sentinels, seen over HTTP: a write that no replica has confirmed is not reported as done, and no
// code works twice whatever is lost.
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type SentinelGroup, startSentinel, untilTrue, untilMissed } from '../world/redis-groups.ts';
import type { RedisServer } from '../world/servers.ts';
import { machineToken } from '../world/app.ts';
import { introspect, introspection, revoke } from '../world/presented-tokens.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { type OpenWorld, startWorld } from '../world/world.ts';
import {
  expectStateless,
  expectUnavailable,
  RECOVERY_MS,
  timed,
  untilAuthorized,
  untilSignedIn,
} from './asking.ts';

let group: SentinelGroup;
let world: OpenWorld;
beforeEach(async () => {
  group = await startSentinel();
  world = await startWorld({ store: group.url });
  return async () => {
    group.nodes.forEach((node) => node.resume());
    await world.stop();
    await group.stop();
  };
});

/** Freezes the replicas and cuts their links, so that new writes never reach them, not even later. */
async function cutReplicas(): Promise<RedisServer> {
  const master = await group.master();
  for (const replica of await group.replicas()) replica.pause();
  await group.ask(master, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  return master;
}

/** Ends the master and waits for a new one that confirms writes: before that, a late confirmation is a 503, and the proof is spent. */
async function failOver(master: RedisServer): Promise<void> {
  await kill(master);
  await untilSignedIn(world);
}

async function kill(master: RedisServer): Promise<void> {
  await master.kill();
  group.nodes.forEach((node) => node !== master && node.resume());
  await untilTrue('there is another master', async () => {
    const next = await group.master();
    return (
      next !== master && (await group.ask(next, (redis) => redis.info('replication'))).includes('role:master')
    );
  });
}

/** Every answer up to the first that isn't 503. */
async function untilNo503<T extends { readonly status: number }>(ask: () => Promise<T>, timeoutMs = 60_000) {
  return vi.waitFor(
    async () => {
      const answer = await ask();
      if (answer.status === 503) throw new Error('503');
      return answer;
    },
    { timeout: timeoutMs, interval: 50 },
  );
}

describe('a failover', () => {
  it('RD-18: that loses the use of a code has had no 200 for it before', async () => {
    const [pending, other] = [await untilAuthorized(world), await untilAuthorized(world)];
    const master = await cutReplicas();
    expectUnavailable(await timed(redeem(world, pending)));
    await expectStateless(world);
    await failOver(master);
    const first = await untilNo503(() => redeem(world, pending));
    const second = await untilNo503(() => redeem(world, pending));
    expect([first.status, second.status]).toEqual([200, 400]);
    expect((await untilNo503(() => redeem(world, other))).status).toBe(200);
  });

  it('RD-18: that loses a new refresh token has had no 200 for it before, so nobody revokes it in vain', async () => {
    const { tokens } = await untilSignedIn(world);
    const { records } = world.openedStore;
    const save = records.save.bind(records);
    let master: RedisServer | undefined;
    // No replica will have the new token, and the old one is not used up for it.
    records.save = async (record) => {
      if (record.kind === 'RefreshToken') master = await cutReplicas();
      return save(record);
    };
    expect((await refresh(world, tokens.refresh_token)).status).toBe(503);
    records.save = save;
    if (master === undefined) throw new Error('nothing was saved');
    await failOver(master);
    expect((await untilNo503(() => revoke(world, tokens.refresh_token))).status).toBe(200);
    expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
  });

  it('RD-18: that loses a revocation has had no 200 for it before, not even for its repeat', async () => {
    const { tokens } = await untilSignedIn(world);
    const machine = await machineToken(world, 'reports.read');
    const revokeMachine = () => revoke(world, machine, 'svc');
    const master = await cutReplicas();
    for (let round = 0; round < 2; round += 1) {
      expectUnavailable(await timed(revoke(world, tokens.access_token)));
      expectUnavailable(await timed(revokeMachine()));
      // Not revoked; or the result is unknown, if the replicas were lost just then.
      for (const token of [tokens.access_token, machine]) {
        const asked = await timed(introspection(world, token));
        if (asked.answer.status === 200) expect(asked.answer.body).toMatchObject({ active: true });
        else expectUnavailable(asked);
      }
    }
    await failOver(master);
    expect((await untilNo503(() => revoke(world, tokens.access_token))).status).toBe(200);
    expect((await untilNo503(revokeMachine)).status).toBe(200);
    expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    expect(await introspect(world, machine)).toEqual({ active: false });
    expect((await refresh(world, tokens.refresh_token)).status).toBe(400);
  });

  it('takes nothing from anybody while a replica is known to be missed: what was answered with 503 works afterwards', async () => {
    const [pending, used, revoked] = [
      await untilAuthorized(world),
      await untilSignedIn(world),
      await untilSignedIn(world),
    ];
    await cutReplicas();
    const { records } = world.openedStore;
    const probe = { kind: 'RefreshToken', key: 'probe', payload: 'p', ttlSeconds: 60 };
    await untilMissed(async () => {
      await records.save(probe);
      await records.consume(probe.kind, probe.key);
    });
    for (let round = 0; round < 3; round += 1) {
      expectUnavailable(await timed(redeem(world, pending)));
      expectUnavailable(await timed(refresh(world, used.tokens.refresh_token)));
      expectUnavailable(await timed(revoke(world, revoked.tokens.access_token)));
    }
    // If the master answers late, as on a busy machine, this works only once the replicas are given up.
    const answer = await untilNo503(() => introspection(world, revoked.tokens.access_token));
    expect(answer.body).toMatchObject({ active: true });
    group.nodes.forEach((node) => node.resume());
    await untilSignedIn(world);
    expect((await untilNo503(() => redeem(world, pending))).status).toBe(200);
    expect((await untilNo503(() => refresh(world, used.tokens.refresh_token))).status).toBe(200);
    expect((await untilNo503(() => revoke(world, revoked.tokens.access_token))).status).toBe(200);
    expect(await introspect(world, revoked.tokens.access_token)).toEqual({ active: false });
  });

  it('RD-19: that loses a code is a new sign-in for its owner', async () => {
    const pending = await untilAuthorized(world);
    for (const replica of await group.replicas()) {
      await group.ask(replica, async (redis) => {
        await redis.config('SET', 'replica-read-only', 'no');
        for (const key of await redis.keys('postern:record:AuthorizationCode:*')) await redis.del(key);
      });
    }
    await failOver(await group.master());
    expect(await untilNo503(() => redeem(world, pending))).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    await untilSignedIn(world);
  });

  it('keeps everything that was acknowledged, and the service is back in time', async () => {
    const [kept, revoked] = [await untilSignedIn(world), await untilSignedIn(world)];
    const code = await untilAuthorized(world);
    await untilNo503(() => redeem(world, code));
    expect((await untilNo503(() => revoke(world, revoked.tokens.access_token))).status).toBe(200);
    await kill(await group.master());
    const began = performance.now();
    const { body } = await untilNo503(() => introspection(world, kept.tokens.access_token));
    expect(performance.now() - began).toBeLessThan(RECOVERY_MS);
    expect(body).toMatchObject({ active: true });
    expect(await introspect(world, revoked.tokens.access_token)).toEqual({ active: false });
    expect((await untilNo503(() => redeem(world, code))).status).toBe(400);
  });

  it('RD-20: leaves nothing to a master that was frozen meanwhile and comes back', async () => {
    const { tokens } = await untilSignedIn(world);
    const old = await group.master();
    old.pause();
    expectUnavailable(await timed(introspection(world, tokens.access_token)));
    await untilTrue('there is another master', async () => (await group.master()) !== old);
    expect((await untilNo503(() => revoke(world, tokens.access_token))).status).toBe(200);
    old.resume();
    for (let round = 0; round < 20; round += 1) {
      const { status, body } = await introspection(world, tokens.access_token);
      if (status !== 503) expect(body).toEqual({ active: false });
      await sleep(50);
    }
    const { body } = await untilNo503(() => introspection(world, tokens.access_token));
    expect(body).toEqual({ active: false });
  });

  it('RD-20: is not needed by a master without replicas to stop taking writes', async () => {
    const { tokens } = await untilSignedIn(world);
    const master = await group.master();
    await group.ask(master, (redis) => redis.config('SET', 'min-replicas-to-write', '1'));
    await cutReplicas();
    expectUnavailable(await timed(refresh(world, tokens.refresh_token)));
    group.nodes.forEach((node) => node.resume());
    await untilSignedIn(world);
    // NOREPLICAS: nothing was written, so the token is still valid.
    expect((await untilNo503(() => refresh(world, tokens.refresh_token))).status).toBe(200);
  });
});

it('a Sentinel that is lost is named in the log and in the metrics, and missed by nobody', async () => {
  const printed = vi.spyOn(console, 'error').mockReturnValue();
  const gauge = async () =>
    (await (await fetch(`${world.management}/metrics`)).text()).match(/_warning{.*sentinel.*/g);
  await world.server.status();
  expect(await gauge()).toBeNull();
  await group.sentinels[2]?.stop();
  await expect.poll(gauge, { timeout: RECOVERY_MS }).toEqual(['_warning{warning="sentinel_3"} 1']);
  expect(world.recorded.log.join('')).toContain(
    `the Sentinel 127.0.0.1:${group.sentinels[2]?.port} does not answer`,
  );
  const { records } = world.openedStore;
  for (let round = 0; round < 10; round += 1) {
    await records.save({ kind: 'Session', key: `${round}`, payload: 'p', ttlSeconds: 60 });
    expect(await records.find('Session', `${round}`)).toMatchObject({ payload: 'p' });
    await sleep(100);
  }
  // All output is lines of the log.
  expect(printed.mock.calls).toEqual([]);
  printed.mockRestore();
});
