// What a replacement keeps and what a failed one changes, inside this process; reload.test.ts and rotation.test.ts test the whole.
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import type { KeySet } from '../../src/keys/key-set.ts';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { realKeys } from '../unit/keys/keys.fixture.ts';
import { machineToken } from '../world/app.ts';
import { get } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { type OpenWorld, startWorld, WORLD_ENV, worldClients } from '../world/world.ts';

let world: OpenWorld;
let isStoreAway = false;
afterEach(async () => {
  isStoreAway = false;
  await world.stop();
});

/** A store whose documents temporarily can't be read. */
const outage = (store: Store): Store => ({
  ...store,
  documents: {
    ...store.documents,
    get: async (...names) => {
      if (isStoreAway) throw new StoreUnavailable();
      return store.documents.get(...names);
    },
  },
});

async function problem(): Promise<string | undefined> {
  const answer = await fetch(`${world.management}/readyz`);
  return ((await answer.json()) as { configuration: { problem?: string } }).configuration.problem;
}

const withoutMachine = { clients: worldClients().filter(({ client_id: id }) => id !== 'svc') };

describe('a replacement that fails', () => {
  it('of the keys: the old ones go on signing, and nothing of the new ones is published', async () => {
    world = await startWorld();
    const before = await get(world, '/oauth/jwks.json');
    const [key] = await realKeys();
    if (key === undefined) throw new Error('a key');
    const { kid, privateJwk, publicJwk } = key;
    const leaking = {
      generation: 9,
      active: { kid, privateJwk },
      others: [],
      reserve: [],
      published: [privateJwk],
    };
    await expect(world.server.replace({ keySet: leaking as KeySet })).rejects.toThrow(
      /does not verify what it signs/,
    );
    expect((await get(world, '/oauth/jwks.json')).text).toBe(before.text);
    expect(await machineToken(world)).toMatch(/^ey/);
    expect(world.recorded.audit('keys_changed')).toHaveLength(1);

    await world.server.replace({ keySet: { ...leaking, published: [publicJwk] } });
    expect((await get(world, '/oauth/jwks.json')).text).toContain(kid);
    expect(world.recorded.audit('keys_changed')).toHaveLength(2);
  });

  it.each([
    ['weak', generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['of another kind', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ])('of the keys: one that is %s is named, with what to do', async (_, { privateKey, publicKey }) => {
    world = await startWorld();
    const [privateJwk, jwk] = [privateKey, publicKey].map((key) => ({
      ...key.export({ format: 'jwk' }),
      kid: 'unfit',
    }));
    const published = [{ ...jwk, alg: 'RS256', use: 'sig' }];
    const keySet = {
      generation: 9,
      active: { kid: 'unfit', privateJwk },
      others: [],
      reserve: [],
      published,
    };
    await expect(world.server.replace({ keySet: keySet as unknown as KeySet })).rejects.toThrow(
      /key unfit can't sign RS256, .*postern keys compromise/,
    );
    expect(await machineToken(world)).toMatch(/^ey/);
  });

  it('of the configuration: it is recorded once, however often it is tried, and the old one serves', async () => {
    world = await startWorld({ handStore: outage });
    isStoreAway = true;
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await expect(world.reload(withoutMachine)).rejects.toThrow(StoreUnavailable);
    }
    expect(await problem()).toBe("the configuration could not be applied: can't reach the store");
    expect(await machineToken(world)).toMatch(/^ey/);
    expect(world.recorded.audit('configuration_changed').map(({ outcome }) => outcome)).toEqual(['failure']);
    const metrics = await (await fetch(`${world.management}/metrics`)).text();
    expect(metrics).toContain('postern_configuration_current 0\n');
    const lines = world.recorded.log.filter((line) =>
      line.includes('the configuration could not be applied'),
    );
    expect(lines).toHaveLength(1);

    isStoreAway = false;
    await world.reload(withoutMachine);
    expect(await problem()).toBeUndefined();
    await expect(machineToken(world)).rejects.toThrow();
  });
});

describe('a replacement that succeeds', () => {
  it('lets a request in flight end on the application that it began on', async () => {
    world = await startWorld();
    const request = http.request(`${world.base}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: basic('svc'),
        'content-type': 'application/x-www-form-urlencoded',
        // The interim answer shows that the request has reached the application.
        expect: '100-continue',
      },
    });
    const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on('response', resolve).on('error', reject);
    });
    await new Promise((resolve) => {
      request.once('continue', () => resolve(undefined)).flushHeaders();
    });
    await world.reload(withoutMachine);
    request.end('grant_type=client_credentials');
    const { statusCode } = (await answered).resume();
    expect(statusCode).toBe(200);
    await expect(machineToken(world)).rejects.toThrow();
  });

  it('of the views, while one of the configuration waits, has the branding of the new configuration', async () => {
    world = await startWorld({ config: { branding: { name: 'First' } } });
    const title = async () => /<title>.*<\/title>/.exec((await get(world, '/oauth/authorize')).text)?.[0];
    expect(await title()).toContain('First');
    const config = await loadConfig(world.configFile, { env: WORLD_ENV });
    const { replace } = world.server;
    await Promise.all([
      replace({ config: { ...config, branding: { name: 'Second' } } }),
      replace({ views: 'changed' }),
    ]);
    expect(await title()).toContain('Second');
  });

  it('of the views counts what is broken in them, until it is mended', async () => {
    world = await startWorld({ config: { views: 'own' } });
    const faults = async () => {
      const metrics = await (await fetch(`${world.management}/metrics`)).text();
      return Number(/^postern_view_faults (\d+)$/m.exec(metrics)?.[1]);
    };
    const put = async (text: string) => {
      await mkdir(path.join(world.folder, 'own'), { recursive: true });
      await writeFile(path.join(world.folder, 'own/error.ejs'), text);
      await world.server.replace({ views: 'changed' });
    };
    await put('<%= model. %>');
    expect(await faults()).toBeGreaterThan(0);
    await put(await readFile('views/error.ejs', 'utf8'));
    expect(await faults()).toBe(0);
  });
});
