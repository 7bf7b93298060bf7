// A machine whose clock is set while the service runs on the embedded store. Elapsed time is moved with the clock where time
// passes, and not where the clock is set.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { signIn } from '../world/app.ts';
import { refresh } from '../world/token-endpoint.ts';
import { createTurns } from '../world/turns.ts';
import { type OpenWorld, startWorld } from '../world/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

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

describe('keys of a clock that was ahead, on lmdb', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'postern-clock-'));
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  });
  afterAll(async () => {
    vi.useRealTimers();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['at the first start', 'first', async () => undefined],
    [
      'at a rotation',
      'rotation',
      async (passes: (ms: number) => Promise<void>) => {
        for (const ms of [29 * DAY, DAY, 3 * MINUTE]) await passes(ms);
      },
    ],
  ])('F1-07: sign after the clock is right and the service restarted: %s', async (_, name, live) => {
    const turns = createTurns();
    const options = {
      store: `lmdb:${path.join(folder, name)}`,
      issuer: 'https://id.example',
      rotationTimer: turns.timer,
    };
    const warningOf = async (world: OpenWorld) => (await world.server.status()).warning;
    const ahead = await startWorld(options);
    await live(async (ms) => {
      vi.advanceTimersByTime(ms);
      await turns.turn();
    });
    const { tokens } = await signIn(ahead);
    expect(await warningOf(ahead)).toBeUndefined();
    await ahead.stop();
    vi.setSystemTime(Date.now() - 5 * HOUR);
    const world = await startWorld(options);
    const body = await (await fetch(`${world.management}/readyz`)).json();
    expect(body).toMatchObject({ status: 'ready', problems: [] });
    const kid = decodeProtectedHeader(tokens.access_token).kid;
    expect(body).toHaveProperty('warning', expect.stringContaining(`${kid} signs before its time`));
    expect(decodeProtectedHeader((await signIn(world)).tokens.access_token).kid).toBe(kid);
    vi.advanceTimersByTime(5 * HOUR);
    await turns.turn();
    expect(await warningOf(world)).toBeUndefined();
    expect(decodeProtectedHeader((await signIn(world)).tokens.access_token).kid).toBe(kid);
    await world.stop();
  });
});
