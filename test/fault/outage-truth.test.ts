// The state after an outage of Redis, seen over HTTP: no failed request takes effect later, no interrupted request is half
// done, nothing works twice, and nothing queues up meanwhile.
import { beforeEach, describe, expect, it } from 'vitest';
import { introspect, introspection, revoke } from '../world/presented-tokens.ts';
import type { Answer } from '../world/requests.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import {
  DEADLINE_MS,
  expectUnavailable,
  timed,
  untilActive,
  untilAuthorized,
  untilSignedIn,
} from './asking.ts';
import { type OutagePlace, untilReady, useOutagePlace } from './outage-place.ts';
import { signOut } from '../world/person.ts';

const place = useOutagePlace();
let server: OutagePlace['server'];
let proxy: OutagePlace['proxy'];
let world: OutagePlace['world'];
let person: ReturnType<typeof place>['person'];
beforeEach(() => {
  ({ server, proxy, world, person } = place());
});

describe('an outage', () => {
  it('IS-22, IS-31: what was asked in vain is not done later', async () => {
    server.pause();
    // Here the service notices that Redis doesn't answer; it sends nothing from now on.
    expectUnavailable(await timed(introspection(world, person.tokens.access_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.refresh_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.access_token)));
    expectUnavailable(await timed(refresh(world, person.tokens.refresh_token)));
    server.resume();
    await untilActive(world, person.tokens.access_token);
    expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
    expect((await revoke(world, person.tokens.access_token)).status).toBe(200);
    expect(await introspect(world, person.tokens.access_token)).toEqual({ active: false });
  });

  it('LO-12: never says "signed out" when it can\'t know, and the session is there afterwards', async () => {
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
    // The session is still valid: the service asks for no password.
    expect((await signOut(world, person.browser)).status).toBe(200);
  });

  it('RD-15: with lost packets every answer is right or 503, in time, and many are right', async () => {
    const lateMs = 250;
    proxy.lose(0.05, lateMs);
    let [right, late] = [0, 0];
    // A late answer makes the service reconnect, so a few quick rounds may all fall into that time.
    while (right < 40 || late === 0) {
      const { answer, ms } = await timed(introspection(world, person.tokens.access_token));
      expect(ms).toBeLessThan(DEADLINE_MS);
      if (ms >= lateMs) late += 1;
      if (answer.status === 200) {
        right += 1;
        expect(answer.body).toMatchObject({ active: true });
      } else expect(answer.status).toBe(503);
    }
  });

  it('RD-16: a code whose exchange is cut off anywhere works once at most, and from some question on it is spent', async () => {
    const seconds: number[] = [];
    let answer: Answer | undefined;
    // Loses the answer to a later command each time, until the exchange succeeds.
    for (let after = 0; after < 30 && answer?.status !== 200; after += 1) {
      const code = await untilAuthorized(world);
      proxy.swallowAnswers(after);
      const first = await timed(redeem(world, code));
      proxy.heal();
      await untilReady(world);
      answer = first.answer;
      if (answer.status === 200) break;
      expectUnavailable(first);
      seconds.push((await redeem(world, code)).status);
      expect((await redeem(world, code)).status).toBe(400);
    }
    expect(answer?.status).toBe(200);
    // Either the command was lost before the code was used up, or the code is used up; both happened.
    expect(new Set(seconds)).toEqual(new Set([200, 400]));
  });

  it('RD-10, RT-15: a revocation that is cut anywhere is done or answered with 503, and dead from its tombstone on', async () => {
    const deadWithoutRepeat: boolean[] = [];
    for (let round = 0; round < 16; round += 1) {
      const { tokens } = await untilSignedIn(world);
      await refresh(world, tokens.refresh_token);
      // Alternates between the second use of a refresh token, which revokes the family, and the revocation endpoint.
      const isReuse = round % 2 === 0;
      const ask = () => (isReuse ? refresh(world, tokens.refresh_token) : revoke(world, tokens.access_token));
      const done = isReuse ? 400 : 200;
      proxy.cutAfter(Math.floor(round / 2));
      const first = await timed(ask());
      proxy.heal();
      await untilReady(world);
      const { active } = await introspect(world, tokens.access_token);
      if (first.answer.status === done) expect(active).toBe(false);
      else {
        expectUnavailable(first);
        deadWithoutRepeat.push(active === false);
      }
      expect((await ask()).status).toBe(done);
      expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    }
    // Cut both before and after the tombstone was written.
    expect(new Set(deadWithoutRepeat)).toEqual(new Set([false, true]));
  });
});
