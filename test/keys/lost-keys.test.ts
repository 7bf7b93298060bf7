// A store that lost its keys, in whole or in part, or has those of another installation: the refusal of a start, and the reports of
// running nodes.
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rotateByHand } from '../../src/keys/ring-actions.ts';
import { KEYS_COLLECTION, PEPPER_ID, RING_ID } from '../../src/keys/ring-document.ts';
import { openStore } from '../../src/store/open.ts';
import type { DocumentStore, StoredDocument } from '../../src/store/store.ts';
import { readiness } from '../world/requests.ts';
import { keyStoreOf } from '../world/stored.ts';
import { clientCredentials } from '../world/token-endpoint.ts';
import { createTurns } from '../world/turns.ts';
import { seedStore, writeWorldConfig } from '../world/world.ts';
import { freePort, type RedisServer, startRedis } from '../world/servers.ts';
import { eachStore } from '../world/each-store.ts';
import { type Ended, runCli } from '../world/process.ts';
import { type Node, publishedKids, startNode } from './nodes.ts';
import { toStoreConfig } from './store-config.ts';
import { testFolder } from '../world/temp-folder.ts';

const OTHER_KEYS =
  'the store was emptied or replaced, and another node created new keys in it: restart this node';

async function remove(documents: DocumentStore, id: string): Promise<void> {
  const { version = 0 } = (await documents.get(KEYS_COLLECTION, id)) ?? {};
  await documents.remove(KEYS_COLLECTION, id, version);
}

describe.each(['lmdb', 'redis'] as const)('a start on part of the keys, on %s', (engine) => {
  let folder: string;
  let ports: readonly [number, number];
  let redis: RedisServer | undefined;
  let store: string;
  beforeEach(async () => {
    folder = testFolder();
    ports = [await freePort(), await freePort()];
    if (engine === 'redis') redis = await startRedis({ settings: ['--databases', '4'] });
    store = redis?.url ?? `lmdb:${path.join(folder, 'data')}`;
  });
  afterEach(() => redis?.stop());

  /** The store of the first installation, or of another one with the same encryption key. */
  const placeOf = (which: 'own' | 'other') =>
    which === 'own' ? store : `${store}${redis ? '/1' : '-other'}`;

  async function write(which: 'own' | 'other' = 'own'): Promise<string> {
    const { configFile } = await writeWorldConfig(folder, { store: placeOf(which) }, ports);
    return configFile;
  }

  /** Fills the store as a first start does. */
  async function fill(which: 'own' | 'other' = 'own'): Promise<void> {
    await seedStore(await write(which));
  }

  async function startFails(): Promise<string> {
    const before = await documents();
    const { code, stdout, stderr }: Ended = await runCli(['serve', '--config', await write()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(await documents()).toEqual(before);
    // On Redis, warnings about its settings are there, too, before or after it.
    return stderr;
  }

  async function withDocuments<T>(
    use: (documents: DocumentStore) => Promise<T>,
    which: 'own' | 'other' = 'own',
  ): Promise<T> {
    const opened = await openStore(toStoreConfig(placeOf(which)), Date.now);
    try {
      return await use(opened.documents);
    } finally {
      await opened.close();
    }
  }

  const documents = (which: 'own' | 'other' = 'own'): Promise<readonly StoredDocument[]> =>
    withDocuments((opened) => opened.list(KEYS_COLLECTION), which);

  it('KY-27: refuses a ring without its pepper, and a pepper without its ring, and makes neither', async () => {
    await fill();
    const [pepper] = (await documents()).filter(({ id }) => id === PEPPER_ID);
    await withDocuments((opened) => remove(opened, PEPPER_ID));
    expect(await startFails()).toContain('the pepper is gone from the store');
    await withDocuments(async (opened) => {
      await opened.put(KEYS_COLLECTION, PEPPER_ID, pepper?.value ?? '', 0);
      await remove(opened, RING_ID);
    });
    expect(await startFails()).toContain('the key ring is gone from the store');
  });

  it('KY-27: refuses a ring and a pepper that do not belong together', async () => {
    await fill();
    await fill('other');
    const foreign = (await documents('other')).find(({ id }) => id === PEPPER_ID);
    await withDocuments(async (opened) => {
      await remove(opened, PEPPER_ID);
      await opened.put(KEYS_COLLECTION, PEPPER_ID, foreign?.value ?? '', 0);
    });
    expect(await startFails()).toContain('the pepper in the store belongs to another key ring');
  });
});

const turns = createTurns();

eachStore('a running node whose store lost ring and pepper', { rotationTimer: turns.timer }, (world) => {
  it.each([
    ['ring', RING_ID],
    ['pepper', PEPPER_ID],
  ])('KY-27: says so at readiness, and writes nothing: the %s', async (_what, lost) => {
    const { documents } = world().openedStore;
    const { value = '' } = (await documents.get(KEYS_COLLECTION, lost)) ?? {};
    await remove(documents, lost);
    await turns.turn();
    const { status, problems } = await readiness(world());
    expect([status, problems]).toEqual([503, [expect.stringContaining('is gone from the store')]]);
    expect(await documents.get(KEYS_COLLECTION, lost)).toBeUndefined();
    await documents.put(KEYS_COLLECTION, lost, value, 0);
    await turns.turn();
    expect(await readiness(world())).toEqual({ status: 200, problems: [] });
  });

  it('leaves the keys that another node has made, says so at readiness at once, and signs nothing', async () => {
    const { documents } = world().openedStore;
    for (const id of [RING_ID, PEPPER_ID]) await remove(documents, id);
    const other = keyStoreOf(world().openedStore);
    await other.ensure();
    // Works however often the other installation has rotated.
    const kids = (await rotateByHand(other)).keys.map(({ kid }) => kid);
    await turns.turn();
    expect(await readiness(world())).toEqual({
      status: 503,
      problems: [
        `the stored keys can't be used: ${OTHER_KEYS}`,
        'this node does not sign tokens until its keys are confirmed again',
      ],
    });
    expect((await clientCredentials(world())).status).toBe(503);
    expect((await other.load()).keys.map(({ kid }) => kid)).toEqual(kids);
  });
});

describe('nodes whose Redis is emptied', () => {
  let redis: RedisServer;
  let client: Redis;
  const nodes: Node[] = [];
  beforeEach(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
  });
  afterEach(async () => {
    await client.quit();
    for (const node of nodes.splice(0)) await node.stop();
    await redis.stop();
  });

  async function start(): Promise<Node> {
    const node = await startNode({ store: redis.url, ...(nodes[0] && { issuer: nodes[0].issuer }) });
    nodes.push(node);
    return node;
  }

  it('KY-27: take a backup of the whole store that was put back while none of them ran', async () => {
    const first = await start();
    const kids = await publishedKids(first);
    await client.save();
    const opened = await openStore(toStoreConfig(redis.url));
    await rotateByHand(keyStoreOf(opened));
    await opened.close();
    await first.turn();
    expect(await publishedKids(first)).toHaveLength(3);
    await nodes.pop()?.stop();
    // Writes after the snapshot are lost with the process.
    await redis.kill();
    await redis.restart();
    nodes.push(await startNode({ store: redis.url, issuer: first.issuer }));
    expect(await publishedKids(nodes[0] ?? first)).toEqual(kids);
  });
});

describe.each(['lmdb', 'redis'] as const)('new signing keys, on %s', (engine) => {
  it('are one line of the log and one audit record at the start that made them, and at no other', async () => {
    const redis = engine === 'redis' ? await startRedis() : undefined;
    const folder = testFolder();
    const store = redis?.url ?? `lmdb:${path.join(folder, 'data')}`;
    const said: [number, number][] = [];
    let issuer: string | undefined;
    for (let start = 0; start < 2; start += 1) {
      const node = await startNode({ store, hasOwnKeys: true, ...(issuer && { issuer }) });
      issuer = node.issuer;
      const lines = node.recorded.log.filter((line) =>
        /"level":30.*created signing keys.*no longer valid/.test(line),
      );
      const records = node.recorded.audit('keys_created');
      for (const record of records) expect(await publishedKids(node)).toContain(record['kid']);
      said.push([lines.length, records.length]);
      await node.stop();
    }
    expect(said).toEqual([
      [1, 1],
      [0, 0],
    ]);
    await redis?.stop();
  });
});
