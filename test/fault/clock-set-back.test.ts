// A machine whose clock was ahead, and is set right.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { signIn } from '../world/app.ts';
import { createTurns } from '../world/turns.ts';
import { type OpenWorld, startWorld } from '../world/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

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
