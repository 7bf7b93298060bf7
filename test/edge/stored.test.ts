// What requests leave in a real Redis: names that no caller can choose, an expiry for each key, and nothing at all
// if the request needs no state.
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { authorizationPath } from '../world/authorization-request.ts';
import { newBrowser } from '../world/person.ts';
import { userinfo } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { sendBytes, toBytes } from '../world/wire.ts';
import { type World } from '../world/world.ts';
import { useWorldOnRedis } from '../world/each-store.ts';

/** Signing keys and the pepper live as long as the installation. */
const FOR_EVER = /\bdoc/i;
const INTERACTION_MS = 600_000;
const DAY_MS = 86_400_000;

let world: World;
let client: Redis;
useWorldOnRedis((opened) => ({ world, client } = opened));

async function head(target: string): Promise<void> {
  expect((await sendBytes(world.base, toBytes({ method: 'HEAD', target }))).status).toBe(405);
}

async function newKeys(during: () => Promise<unknown>): Promise<string[]> {
  // The mark of the index of usernames is also written in the background.
  const before = new Set([...(await client.keys('*')), 'postern:documents:index-marks']);
  await during();
  // Shares of a limit are fetched in the background.
  await new Promise((resolve) => setTimeout(resolve, 200));
  return (await client.keys('*')).filter((key) => !before.has(key));
}

async function livesOf(keys: readonly string[]): Promise<number[]> {
  return Promise.all(keys.map(async (key) => client.pttl(key)));
}

describe('the store', () => {
  it('AZ-26: is not touched by HEAD', async () => {
    expect(
      await newKeys(async () => Promise.all([head(authorizationPath()), head('/oauth/logout')])),
    ).toEqual([]);
  });

  it('AZ-28: forgets each interaction within ten minutes', async () => {
    const keys = await newKeys(async () =>
      Promise.all(Array.from({ length: 50 }, async () => get(world, authorizationPath()))),
    );
    expect(keys.length).toBeGreaterThanOrEqual(50);
    for (const life of await livesOf(keys)) {
      expect(life).toBeGreaterThan(0);
      expect(life).toBeLessThanOrEqual(INTERACTION_MS);
    }
  });

  it('LG-18, LG-23: keeps what failed sign-ins with made-up names leave for a day at most', async () => {
    const keys = await newKeys(async () => {
      for (let name = 0; name < 5; name += 1) {
        const browser = newBrowser(world);
        const page = await browser.open(`${world.base}${authorizationPath()}`);
        const answer = await browser.submit(page, '/login', { username: `name-${name}`, password: 'wrong' });
        expect(answer.status).toBe(401);
      }
    });
    expect(keys.length).toBeGreaterThanOrEqual(10);
    for (const life of await livesOf(keys)) {
      expect(life).toBeGreaterThan(0);
      expect(life).toBeLessThanOrEqual(DAY_MS);
    }
  });

  it('AZ-30: keeps no long hint', async () => {
    const keys = await newKeys(async () => {
      for (const name of ['login_hint', 'ui_locales', 'acr_values', 'display']) {
        expect((await get(world, authorizationPath({ [name]: 'canary'.repeat(500) }))).status).toBe(303);
      }
    });
    expect(keys.length).toBeGreaterThanOrEqual(4);
    for (const key of keys) {
      const record = (await client.type(key)) === 'hash' ? await client.hgetall(key) : {};
      expect(JSON.stringify(record)).not.toContain('canary');
    }
  });

  it('IN-13: has keys of the same few lengths, whatever is sent, and none of what was sent in them', async () => {
    const evil = ['*', '{tag}x', 'a\r\nFLUSHALL\r\n', 'x'.repeat(4000), '../..', '\u0000', '[a-z]*', '$(id)'];
    const authorization = basic('web');
    const fields = ['code', 'refresh_token'];
    await newKeys(async () => {
      for (const value of evil) {
        for (const field of fields) {
          const grant = field === 'code' ? 'authorization_code' : 'refresh_token';
          const form = {
            grant_type: grant,
            [field]: value,
            redirect_uri: 'https://app.example/cb',
            code_verifier: 'v'.repeat(43),
          };
          expect((await post(world, '/oauth/token', form, { authorization })).status).toBe(400);
        }
        await post(world, '/oauth/introspect', { token: value }, { authorization });
        await post(world, '/oauth/revoke', { token: value }, { authorization });
        await userinfo(world, encodeURIComponent(value));
        await post(world, '/oauth/token', {
          grant_type: 'client_credentials',
          client_id: value,
          client_secret: value,
        });
        await get(world, '/oauth/logout', { cookie: `postern_session=${encodeURIComponent(value)}` });
      }
    });
    const keys = await client.keys('*');
    for (const key of keys) {
      expect(key).toMatch(/^[\w:{}.-]+$/);
      expect(key.length).toBeLessThan(120);
      for (const value of evil.slice(1)) expect(key).not.toContain(value);
    }
    // Makes sure that FLUSHALL wasn't one of the commands.
    expect(keys.length).toBeGreaterThan(1);
  });

  it('has nothing without an end but what lasts', async () => {
    const keys = await client.keys('*');
    expect(keys.length).toBeGreaterThan(10);
    const lives = await livesOf(keys);
    expect(keys.filter((key, index) => lives[index] === -1 && !FOR_EVER.test(key))).toEqual([]);
    for (const key of keys.filter((one) => one.startsWith('postern:record:')))
      expect(key).toMatch(/^postern:record:[A-Z][A-Za-z]+:[\w-]{43}$/);
  });
});
