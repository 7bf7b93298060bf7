// kill -9 during a step, in a separate process, on both real stores: the state that the next process finds.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Algorithm } from '../../src/config/signing-algorithms.ts';
import { familyOf, nextFamilyStep } from '../../src/keys/families.ts';
import { generateKey, type KeyMaterial } from '../../src/keys/generate-key.ts';
import { KeyStore } from '../../src/keys/key-store.ts';
import { activeKey, publishedKeys, reserveKeys, stateOf, type Ring } from '../../src/keys/ring.ts';
import { openPepper } from '../../src/keys/installation.ts';
import { KEYS_COLLECTION, PEPPER_ID } from '../../src/keys/ring-document.ts';
import { runDueSteps } from '../../src/keys/ring-actions.ts';
import type { Step } from '../../src/keys/schedule.ts';
import { Vault } from '../../src/keys/vault.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { SECOND, START, TIMING } from '../unit/keys/keys.fixture.ts';
import { COMPILED } from '../world/process.ts';
import { type Moment, MOMENTS } from '../unit/keys/moments.fixture.ts';
import { rounds } from '../world/rounds.ts';
import type { Orders } from './fixtures/step.ts';
import { toStoreConfig } from './store-config.ts';
import { tempFolder } from '../world/temp-folder.ts';

const STEP = path.join(import.meta.dirname, 'fixtures', 'step.ts');
/** Four runs cover each store, with and without ES256, at the first and at the second step of a kind. */
const RUNS = rounds(20, 4);
const FAMILIES = ['RS256', 'ES256', 'EdDSA'] as const;
const RS256 = ['RS256'] as const;
/** The due step that contains each moment. */
const STEP_OF: Readonly<Record<Moment, Step['kind']>> = {
  generate: 'activate',
  persist: 'activate',
  publish: 'activate',
  activate: 'activate',
  retire: 'retire',
  remove: 'remove',
};

async function runStep(orders: Orders): Promise<NodeJS.Signals | number | null> {
  const child = spawn(process.execPath, ['--no-warnings', STEP, JSON.stringify(orders)], {
    env: { ...process.env, ...COMPILED },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
}

const nextStep = (ring: Ring, algorithms: readonly Algorithm[], now: number) =>
  nextFamilyStep(ring, algorithms, { now, timing: TIMING });

/** One installation: its store, its clock, and the use of its keys. */
class Installation {
  readonly #store: Store;
  readonly #keyStore: KeyStore;
  readonly #clock: { now: number };
  readonly #signed = new Map<string, number>();

  private constructor(store: Store, keyStore: KeyStore, clock: { now: number }) {
    this.#store = store;
    this.#keyStore = keyStore;
    this.#clock = clock;
  }

  /** Opens it like a new process, which has only the stored state. */
  static async open(
    location: string,
    encryptionKeys: readonly string[],
    pool: readonly KeyMaterial[],
    now: number,
    algorithms: readonly Algorithm[] = RS256,
  ) {
    const clock = { now };
    const store = await openStore(toStoreConfig(location), () => clock.now);
    const taken = new Set<string>();
    const keyStore = new KeyStore({
      documents: store.documents,
      vault: new Vault(encryptionKeys.map((key) => Buffer.from(key, 'base64url'))),
      now: () => clock.now,
      timing: TIMING,
      algorithms,
      async generateKey(alg) {
        const known = await keyStore.load().catch(() => undefined);
        for (const { kid } of [...(known?.keys ?? []), ...(known?.gone ?? [])]) taken.add(kid);
        const free = pool.find(({ kid, publicJwk }) => publicJwk.alg === alg && !taken.has(kid));
        if (free === undefined) throw new Error('the pool of keys is empty');
        taken.add(free.kid);
        return free;
      },
    });
    await keyStore.ensure();
    return new Installation(store, keyStore, clock);
  }

  get now(): number {
    return this.#clock.now;
  }

  /** kid -> time of its last signature. */
  get signed(): ReadonlyMap<string, number> {
    return this.#signed;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async sign(known: ReadonlyMap<string, number> = new Map()): Promise<Ring> {
    for (const [kid, at] of known) this.#signed.set(kid, Math.max(at, this.#signed.get(kid) ?? 0));
    const ring = await this.#keyStore.load();
    const { active, others } = this.#keyStore.toKeySet(ring);
    for (const { kid } of [active, ...others]) this.#signed.set(kid, this.now);
    return ring;
  }

  /** Runs until a step of this kind is due for the `count`th time, but doesn't perform it. */
  async liveUntil(kind: Step['kind'], count: number): Promise<void> {
    for (let met = 0; ;) {
      const ring = await this.sign();
      const due = nextStep(ring, this.#keyStore.algorithms, this.now);
      if (due === undefined) throw new Error('nothing is planned');
      const moments = ring.keys.flatMap(({ activateAt }) => activateAt ?? []).filter((at) => at > this.now);
      const next = Math.max(this.now, Math.min(due.at, ...moments));
      // The last moment at which the old key signs.
      this.#clock.now = Math.max(this.now, next - 1);
      await this.sign();
      this.#clock.now = next;
      if (next < due.at) continue;
      if (due.kind === kind) met += 1;
      if (met === count) return;
      await runDueSteps(this.#keyStore);
    }
  }

  async runDue(): Promise<Ring> {
    return runDueSteps(this.#keyStore);
  }
}

/** Expects one active and one reserve key of each family, and every key published that has signed a live token. */
function expectSound(
  ring: Ring,
  algorithms: readonly Algorithm[],
  now: number,
  signed: ReadonlyMap<string, number>,
): void {
  for (const family of algorithms.map((alg) => familyOf(ring, alg))) {
    const states = family.keys.map((key) => stateOf(key, now));
    expect(states.filter((state) => state === 'active')).toHaveLength(1);
    expect(reserveKeys(family).length).toBeGreaterThanOrEqual(1);
    expect(activeKey(family, now)?.sealed).toBeDefined();
  }
  const published = publishedKeys(ring, now).map(({ kid }) => kid);
  for (const [kid, at] of signed) {
    if (at + TIMING.tokenLife * SECOND > now) expect(published).toContain(kid);
  }
}

describe('a process that is killed with SIGKILL', () => {
  const encryptionKeys = [randomBytes(32).toString('base64url')];
  const folder = tempFolder();
  let poolFile: string;
  let pool: KeyMaterial[];
  let redis: RedisServer;
  beforeAll(async () => {
    poolFile = path.join(folder, 'pool.json');
    pool = await Promise.all(
      FAMILIES.flatMap((alg) => Array.from({ length: 10 }, () => generateKey(2048, alg))),
    );
    await writeFile(poolFile, JSON.stringify(pool));
    redis = await startRedis({ settings: ['--databases', '200'] });
    // Its compiled code speeds up the processes that are killed.
    const store = freshStore();
    await (await Installation.open(store, encryptionKeys, pool, START)).close();
    expect(
      await runStep({ store, now: START, encryptionKeys, poolFile, algorithms: RS256, work: 'steps' }),
    ).toBe(0);
  });
  afterAll(() => redis.stop());

  let used = 0;
  /** A new store: lmdb and Redis in turn, each empty. */
  function freshStore(): string {
    used += 1;
    return used % 2 === 0 ? `lmdb:${path.join(folder, String(used))}` : `${redis.url}/${used}`;
  }

  async function killOnce(name: Moment, run: number): Promise<void> {
    const store = freshStore();
    // The first of several due steps is taken first: each family is killed in some run.
    const algorithms = FAMILIES.filter((alg) => alg !== 'ES256' || run % 2 === 0);
    const open = (now: number) => Installation.open(store, encryptionKeys, pool, now, algorithms);
    const first = await open(START);
    await first.liveUntil(STEP_OF[name], 1 + (Math.floor(run / 2) % 2));
    const { now, signed } = first;
    await first.close();

    const orders: Orders = { store, now, encryptionKeys, poolFile, algorithms, work: 'steps' };
    expect(await runStep({ ...orders, killAt: name })).toBe('SIGKILL');

    const second = await open(now);
    expectSound(await second.sign(signed), algorithms, now, signed);
    // The next run finishes the interrupted step: nothing else is due at this moment.
    const ring = await second.runDue();
    expectSound(ring, algorithms, now, signed);
    expect(nextStep(ring, algorithms, now)?.at).toBeGreaterThan(now);
    await second.liveUntil('remove', 2);
    const later = await second.runDue();
    expectSound(later, algorithms, second.now, second.signed);
    for (const alg of algorithms) {
      const [before, after] = [
        activeKey(familyOf(ring, alg), now),
        activeKey(familyOf(later, alg), second.now),
      ];
      expect(after?.kid).not.toBe(before?.kid);
    }
    await second.close();
  }

  it.each(MOMENTS)(`KY-10: after %s (${RUNS} times), no key is lost`, { timeout: 180_000 }, async (name) => {
    for (let run = 0; run < RUNS; run += 2) {
      await Promise.all([killOnce(name, run), killOnce(name, run + 1)]);
    }
  });

  it.each(['lmdb', 'redis'] as const)('KY-17: during a rewrap, loses no key, on %s', async (engine) => {
    let store = freshStore();
    while (store.startsWith('lmdb:') !== (engine === 'lmdb')) store = freshStore();
    const fresh = randomBytes(32).toString('base64url');
    const both = [fresh, ...encryptionKeys];
    const open = (keys: readonly string[]) => Installation.open(store, keys, pool, START);
    const pepperOf = async (keys: readonly string[]) => {
      const opened = await openStore(toStoreConfig(store), () => START);
      const vault = new Vault(keys.map((key) => Buffer.from(key, 'base64url')));
      try {
        const stored = await opened.documents.get(KEYS_COLLECTION, PEPPER_ID);
        return openPepper(stored?.value ?? '', vault);
      } finally {
        await opened.close();
      }
    };
    const kidOf = async (keys: readonly string[]) => {
      const installation = await open(keys);
      const { keys: found } = await installation.sign();
      await installation.close();
      return found.map(({ kid }) => kid);
    };
    const kids = await kidOf(encryptionKeys);
    const pepper = await pepperOf(encryptionKeys);

    // The ring has been written, the pepper hasn't.
    const orders: Orders = {
      store,
      now: START,
      encryptionKeys: both,
      poolFile,
      algorithms: RS256,
      work: 'rewrap',
    };
    expect(await runStep({ ...orders, killAt: 'persist' })).toBe('SIGKILL');
    expect(await kidOf(both)).toEqual(kids);
    expect(await pepperOf(both)).toEqual(pepper);
    await expect(pepperOf([fresh])).rejects.toMatchObject({ code: 'unreadable' });

    expect(await runStep(orders)).toBe(0);
    expect(await kidOf([fresh])).toEqual(kids);
    expect(await pepperOf([fresh])).toEqual(pepper);
    await expect(open(encryptionKeys)).rejects.toMatchObject({ code: 'unreadable' });
  });

  it('used both stores, and as many as there were runs', async () => {
    const client = new Redis(redis.url);
    const keyspace = await client.info('keyspace');
    await client.quit();
    expect([...keyspace.matchAll(/^db\d+:/gm)].length).toBeGreaterThanOrEqual((MOMENTS.length * RUNS) / 2);
  });
});
