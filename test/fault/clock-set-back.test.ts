// A machine whose clock was ahead and is then corrected.
import path from 'node:path';
import { decodeProtectedHeader } from 'jose';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { authorizationUrl } from '../world/authorization-request.ts';
import { signIn } from '../world/app.ts';
import { newBrowser } from '../world/person.ts';
import { createTurns } from '../world/turns.ts';
import { standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';
import { startWorld } from '../world/world.ts';
import { tempFolder } from '../world/temp-folder.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('keys of a clock that was ahead, on lmdb', () => {
  const folder = tempFolder();
  beforeAll(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
  afterAll(() => void vi.useRealTimers());

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
    const ahead = await startWorld(options);
    await live(async (ms) => {
      vi.advanceTimersByTime(ms);
      await turns.turn();
    });
    const { tokens } = await signIn(ahead);
    await ahead.stop();
    vi.setSystemTime(Date.now() - 5 * HOUR);
    const world = await startWorld(options);
    const body = await (await fetch(`${world.management}/readyz`)).json();
    expect(body).toMatchObject({ status: 'ready', problems: [] });
    const kid = decodeProtectedHeader(tokens.access_token).kid;
    expect(decodeProtectedHeader((await signIn(world)).tokens.access_token).kid).toBe(kid);
    vi.advanceTimersByTime(5 * HOUR);
    await turns.turn();
    expect(decodeProtectedHeader((await signIn(world)).tokens.access_token).kid).toBe(kid);
    await world.stop();
  });
});

describe('a clock that is set back by an hour while the service runs, on lmdb', () => {
  const turns = createTurns();
  standingClock();
  const world = useWorld({
    issuer: 'https://id.example',
    rotationTimer: turns.timer,
    config: { rate_limits: { authorization: '30/1m' } },
  });
  const readyz = async () => (await fetch(`${world().management}/readyz`)).json();

  it('is named by /readyz for as long as no one can sign in', async () => {
    const browser = newBrowser(world());
    const { configuration, tokens } = await signIn(world(), { browser });
    const before = Date.now();
    vi.setSystemTime(before - HOUR);
    await expect(signIn(world())).rejects.toThrow();
    expect(await readyz()).toMatchObject({
      status: 'not ready',
      problems: ['the clock was set back: this node does not sign tokens until its keys are confirmed again'],
    });
    await turns.turn();
    expect(await readyz()).toMatchObject({ status: 'ready' });
    await signIn(world(), { browser });
    await signIn(world());
    await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
  });

  it('does not stretch the window of a limit that was open', async () => {
    const ask = async () => (await newBrowser(world()).request(authorizationUrl(world()))).status;
    await expect.poll(ask).toBe(429);
    vi.setSystemTime(Date.now() + 61_000);
    expect(await ask()).toBe(303);
  });

  it('leaves cookies their whole time in a browser whose clock is right', async () => {
    vi.setSystemTime(Date.now() + 61_000);
    const { headers } = await newBrowser(world()).request(authorizationUrl(world(), { lang: 'de' }));
    const cookies = headers.getSetCookie().filter((one) => one.includes('expires='));
    expect(cookies.length).toBeGreaterThan(2);
    for (const cookie of cookies) {
      const [, expires = '', maxAge] = /expires=([^;]+); max-age=(\d+)/.exec(cookie) ?? [];
      expect(Number(maxAge), cookie).toBeCloseTo(Math.max(0, Date.parse(expires) - Date.now()) / 1000, -1);
    }
  });
});
