// A copy of the store is no set of keys to the house: after every flow nothing in it can be presented anywhere.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { decodeJwt } from 'jose';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { authorize, exchange, machineToken } from '../world/app.ts';
import { AUTHORIZATION_REQUEST } from '../world/authorization-request.ts';
import type { Browser } from '../world/browser.ts';
import { begin, complete, signInAs } from '../world/person.ts';
import { revoke } from '../world/presented-tokens.ts';
import { refresh } from '../world/token-endpoint.ts';
import { PASSWORDS, SECRETS, startWorld, type World } from '../world/world.ts';
import { useWorldOnRedis } from '../world/each-store.ts';

/** Goes through every flow, leaves things open on purpose, and gives what could be presented somewhere, by name. */
async function useEverything(world: World): Promise<Record<string, string>> {
  const pending = await authorize(world);
  const { tokens, browser, ...authorized } = await exchange(await authorize(world));
  const renewed = (await refresh(world, tokens.refresh_token)).body;
  const machine = await machineToken(world, 'reports.read');
  const revoked = await machineToken(world, 'reports.read');
  await revoke(world, revoked, 'svc');
  const { browser: open, page: login } = await begin(world);
  const { browser: atConsent, page } = await begin(world);
  const consent = await signInAs(atConsent, page, 'bob');
  await complete(world, 'alice', { prompt: 'consent' }, browser);
  return {
    'pending code': pending.callback.searchParams.get('code') ?? '',
    'used code': authorized.callback.searchParams.get('code') ?? '',
    verifier: authorized.verifier,
    'access token': tokens.access_token,
    'access token jti': decodeJwt(tokens.access_token).jti ?? '',
    'renewed access token jti': decodeJwt(String(renewed['access_token'])).jti ?? '',
    'ID token': tokens.id_token ?? '',
    'used refresh token': tokens.refresh_token ?? '',
    'refresh token': String(renewed['refresh_token']),
    'machine token': machine,
    'machine token jti': decodeJwt(machine).jti ?? '',
    'revoked machine token jti': decodeJwt(revoked).jti ?? '',
    'interaction at sign-in': login.url.split('/').at(-1) ?? '',
    'interaction at consent': consent.url.split('/').at(-1) ?? '',
    ...cookiesOf('signed in', browser),
    ...cookiesOf('at sign-in', open),
    ...cookiesOf('at consent', atConsent),
    ...SECRETS,
    ...PASSWORDS,
  };
}

function cookiesOf(who: string, browser: Browser): Record<string, string> {
  return Object.fromEntries(browser.cookies.map(({ name, value }) => [`${name}, ${who}`, value]));
}

function expectNothingIn(dump: string, values: Readonly<Record<string, string>>): void {
  expect(Object.keys(values).length).toBeGreaterThan(25);
  for (const [name, value] of Object.entries(values)) {
    expect(value.length, name).toBeGreaterThan(10);
    expect(dump.includes(value), `${name} is in the store`).toBe(false);
  }
}

async function dumpOf(client: Redis): Promise<string> {
  const parts: string[] = [];
  for (const key of await client.keys('*')) {
    const type = await client.type(key);
    parts.push(key);
    const fields = type === 'hash' && (await client.hgetall(key));
    // Other programs can read what is stored.
    if (fields && key.includes(':record:')) JSON.parse(fields['p'] ?? '');
    if (fields) parts.push(JSON.stringify(fields));
    else if (type === 'zset') parts.push(JSON.stringify(await client.zrange(key, '0', '-1')));
    else if (type === 'string') parts.push((await client.get(key)) ?? '');
    else throw new Error(`${key} is a ${type}`);
  }
  return parts.join('\n');
}

describe('a dump of Redis', () => {
  let world: World;
  let client: Redis;
  useWorldOnRedis((opened) => ({ world, client } = opened));

  it('holds no code, token, jti, session, interaction, secret or password', async () => {
    const values = await useEverything(world);
    const dump = (await dumpOf(client)).replaceAll('\\"', '"');
    // The dump is the right one: it holds what is stored beside the bearer values.
    expect(dump).toContain('usr_alice00000000000001');
    expect(dump).toContain(AUTHORIZATION_REQUEST.state);
    expectNothingIn(dump, values);
  });

  it('names its records by hashes, and an end for everything but documents and indexes', async () => {
    await useEverything(world);
    const keys = await client.keys('*');
    for (const key of keys) {
      const life = await client.ttl(key);
      if (/^postern:(documents|index):/.test(key)) expect(life, key).toBe(-1);
      else expect(life, key).toBeGreaterThan(0);
    }
    const records = keys.filter((key) => key.startsWith('postern:record:'));
    expect(records.length).toBeGreaterThan(10);
    for (const key of records) expect(key).toMatch(/^postern:record:[A-Z][A-Za-z]+:[\w-]{43}$/);
  });

  it('holds no private part of a signing key', async () => {
    const documents = await client.keys('postern:documents:*');
    const values = await Promise.all(documents.map(async (key) => Object.values(await client.hgetall(key))));
    const dump = values.flat().join('\n').replaceAll('\\"', '"');
    expect(dump).toContain('"e":"AQAB"');
    for (const member of ['"d":"', '"p":"', '"q":"', '"dp":"', '"dq":"', '"qi":"', 'PRIVATE KEY']) {
      expect(dump).not.toContain(member);
    }
  });
});

describe('the folder of lmdb', () => {
  it('holds no code, token, jti, session, interaction, secret or password', async () => {
    const world = await startWorld();
    onTestFinished(() => world.stop());
    const values = await useEverything(world);
    const dump = await readFile(path.join(world.folder, 'data', 'data.mdb'), 'latin1');
    expect(dump).toContain('usr_alice00000000000001');
    expect(dump).toContain(AUTHORIZATION_REQUEST.state);
    expectNothingIn(dump, values);
  });
});
