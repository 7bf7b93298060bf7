// What is true after an outage of Redis, seen over HTTP: nothing that was asked in vain is done later, nothing that was cut is
// half done, nothing works twice, and meanwhile nothing piles up.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Answer, authorize, introspect, redeem, refresh, signIn } from '../world/flows.ts';
import { DEADLINE_MS, expectUnavailable, introspection, revoke, timed, untilActive } from './asking.ts';
import { type OutagePlace, startOutagePlace, untilReady } from './outage-place.ts';

let server: OutagePlace['server'];
let proxy: OutagePlace['proxy'];
let world: OutagePlace['world'];
let person: OutagePlace['person'];
let machine: OutagePlace['machine'];
beforeEach(async () => {
  const place = await startOutagePlace();
  ({ server, proxy, world, person, machine } = place);
  return () => place.stop();
});

describe('an outage', () => {
  it('IS-22, IS-31: what was asked in vain is not done later', async () => {
    server.pause();
    // Learns that nobody answers; from here on nothing is sent.
    expectUnavailable(await timed(introspection(world, machine)));
    expectUnavailable(await timed(revoke(world, person.tokens.refresh_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.access_token)));
    expectUnavailable(await timed(refresh(world, person.tokens.refresh_token)));
    server.resume();
    await untilActive(world, person.tokens.access_token);
    expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
    expect((await revoke(world, person.tokens.access_token)).status).toBe(200);
    expect(await introspect(world, person.tokens.access_token)).toEqual({ active: false });
  });

  it('LO-12: never says "signed out" when it can not know, and the session is there afterwards', async () => {
    const ask = await person.browser.open(`${world.issuer}/oauth/logout`);
    server.pause();
    const began = performance.now();
    const page = await person.browser.submit(ask, '/oauth/logout/confirm', { logout: 'yes' });
    expect(performance.now() - began).toBeLessThan(DEADLINE_MS);
    expect(page.status).toBe(503);
    expect(page.text).not.toMatch(/signed out/i);
    expect(page.text).toContain('you may still be signed in');
    server.resume();
    await untilActive(world, person.tokens.access_token);
    // The session lives: no password is asked for.
    const again = await person.browser.open(`${world.issuer}/oauth/logout`);
    expect((await person.browser.submit(again, '/oauth/logout/confirm', { logout: 'yes' })).status).toBe(200);
  });

  it('RD-15: a thousand requests at once wait in no queue, and the process stays awake', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    proxy.delay(500);
    await timed(introspection(world, machine));
    const lag = await shortestLag(async () => {
      const results = await Promise.all(
        Array.from({ length: 50 }, () => timed(introspection(world, machine))),
      );
      results.forEach(expectUnavailable);
    });
    expect(lag).toBeLessThan(100);
    expect(proxy.connections()).toBeLessThanOrEqual(2);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('RD-15: with lost packets every answer is right or 503, and in time', async () => {
    proxy.lose(0.05, 250);
    const statuses = new Set<number>();
    const until = Date.now() + 10_000;
    // One late answer opens the breaker for a while, so a few quick rounds may all fall into it.
    for (let round = 0; round < 40 || (!statuses.has(200) && Date.now() < until); round += 1) {
      const { answer, ms } = await timed(introspection(world, person.tokens.access_token));
      statuses.add(answer.status);
      expect(ms).toBeLessThan(DEADLINE_MS);
      if (answer.status === 200) expect(answer.body).toMatchObject({ active: true });
      else expect(answer.status).toBe(503);
    }
    expect(statuses).toContain(200);
  });

  it('RD-16: a code whose use was not answered is spent, and no token comes of it', async () => {
    const pending = await authorize(world);
    let answer: Answer | undefined;
    // Loses the answer to a later and later question, until the exchange gets through.
    for (let after = 0; after < 30 && answer?.status !== 200; after += 1) {
      const code = answer === undefined ? pending : await authorize(world);
      proxy.swallowAnswers(after);
      const first = await timed(redeem(world, code));
      proxy.heal();
      await untilReady(world);
      answer = first.answer;
      if (answer.status === 200) break;
      expectUnavailable(first);
      const second = await redeem(world, code);
      // Either it was lost before the code was used up, or it is spent; never twice.
      expect(second.status).toBeOneOf([200, 400]);
      expect((await redeem(world, code)).status).toBe(400);
    }
    expect(answer?.status).toBe(200);
  }, 60_000);

  it('RD-10, RT-15: a revocation that is cut anywhere is done or answered with 503, and may be repeated', async () => {
    for (let requests = 0; requests < 8; requests += 1) {
      const { tokens } = await signIn(world);
      await refresh(world, tokens.refresh_token);
      proxy.cutAfter(requests);
      // The second use of a refresh token, which revokes the family, and the endpoint, in turn.
      const isReuse = requests % 2 === 0;
      const ask = () => (isReuse ? refresh(world, tokens.refresh_token) : revoke(world, tokens.access_token));
      const done = isReuse ? 400 : 200;
      const first = await timed(ask());
      if (first.answer.status !== done) expectUnavailable(first);
      proxy.heal();
      await untilReady(world);
      if (first.answer.status === done)
        expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
      expect((await ask()).status).toBe(done);
      expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    }
  }, 60_000);
});

/**
 * Milliseconds that the process was asleep at most in the best of twenty rounds: what a round itself takes, however busy the
 * machine is with something else.
 */
async function shortestLag(round: () => Promise<void>): Promise<number> {
  const lag = monitorEventLoopDelay({ resolution: 5 });
  const lags: number[] = [];
  lag.enable();
  for (let count = 0; count < 20; count += 1) {
    lag.reset();
    await round();
    lags.push(lag.max / 1e6);
  }
  lag.disable();
  return Math.min(...lags.filter((one) => one > 0));
}
