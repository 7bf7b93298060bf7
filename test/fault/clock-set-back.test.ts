// A machine whose clock is set while the service runs on the embedded store. Elapsed time is moved with the clock where time
// passes, and not where the clock is set.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { signIn } from '../world/app.ts';
import { refresh } from '../world/token-endpoint.ts';
import { createTurns } from '../world/turns.ts';
import { type OpenWorld, startWorld } from '../world/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('a clock that is set while the service runs, on lmdb', () => {
  /** As the service does every few seconds: one that hasn't looked at the key ring for long signs nothing. */
  const turns = createTurns();
  let world: OpenWorld;
  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    world = await startWorld({ config: { lifetimes: { refresh_token: '30m' } }, rotationTimer: turns.timer });
  });
  afterAll(async () => {
    await world.stop();
    vi.useRealTimers();
  });

  async function passes(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    await turns.turn();
  }
  async function setClock(by: number): Promise<void> {
    vi.setSystemTime(Date.now() + by);
    await turns.turn();
  }
  const newToken = async () => (await signIn(world)).tokens.refresh_token;

  it('does not revive an expired refresh token when it is set back by an hour', async () => {
    const token = await newToken();
    await passes(31 * MINUTE);
    await setClock(-HOUR);
    const answer = await refresh(world, token);
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_grant']);
    expect(world.recorded.log.join('')).toContain('was set back by 3600 s');
    // People go on signing in, and what they get then lives as long as it should.
    const later = await newToken();
    await passes(29 * MINUTE);
    const refreshed = await refresh(world, later);
    expect(refreshed.status).toBe(200);
    await passes(31 * MINUTE);
    expect((await refresh(world, String(refreshed.body['refresh_token']))).status).toBe(400);
    await setClock(HOUR);
  });

  it('remembers nothing of a jump forward', async () => {
    await setClock(3 * HOUR);
    const during = await newToken();
    await setClock(-3 * HOUR);
    const after = await newToken();
    for (const token of [during, after]) expect((await refresh(world, token)).status).toBe(200);
    await passes(MINUTE);
    expect(world.openedStore.clock.ahead).toBe(0);
  });

  it('follows small steps back, however many', async () => {
    for (let step = 0; step < 10; step += 1) {
      await setClock(-MINUTE);
      expect(world.openedStore.clock.now()).toBe(Date.now());
    }
    expect((await refresh(world, await newToken())).status).toBe(200);
  });
});
