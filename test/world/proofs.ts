// Proofs that can be used once, while the store fails (F1-06). A 503 uses a proof up only if the store may have recorded the use before
// the answer was lost, and its text says so; after any other 503 the proof still works.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { signIn } from './app.ts';
import type { Page } from './browser.ts';
import { startProxy } from './proxy.ts';
import { startSentinel } from './redis-groups.ts';
import { startRedis } from './servers.ts';
import { type OpenWorld, startWorld } from './world.ts';

export type Answer = Pick<Page, 'status' | 'headers' | 'text'>;
export type Use = () => Promise<Answer>;
/** A proof that is ready to be used. `again` uses the same proof in a new browser. */
export type Proof = { readonly use: Use; readonly again: Use };
export type Proofs = Readonly<Record<string, (world: OpenWorld) => Promise<Proof>>>;

export const twice = (use: Use): Proof => ({ use, again: use });

/** Resolves as soon as the store works. */
export const bobSignedIn = (world: OpenWorld) =>
  vi.waitFor(() => signIn(world, { person: 'bob' }), { timeout: 60_000, interval: 100 });

type Fault = {
  readonly break: (round: number) => Promise<unknown>;
  readonly heal: () => Promise<unknown>;
};
type Result = { readonly works: boolean; readonly unconfirmed: boolean; readonly text: string };

/** Uses new proofs until one is not refused or the limit is reached; resolves the outcome of each refused one. */
async function walk(
  world: OpenWorld,
  make: Proofs[string],
  fault: Fault,
  refusals: number,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let round = 0; round < (refusals === 1 ? 4 : 40) && results.length < refusals; round += 1) {
    const proof = await make(world);
    const recorded = world.recorded.audit().length;
    await fault.break(round);
    const answer = await proof.use();
    await fault.heal();
    if (answer.status !== 503) {
      expect([200, 303]).toContain(answer.status);
      if (refusals === Infinity) break;
      continue;
    }
    expect(answer.headers.get('retry-after')).toBe('2');
    const unconfirmed = world.recorded.audit().slice(recorded);
    results.push({
      works: [200, 303].includes((await proof.again()).status),
      unconfirmed: unconfirmed.some(({ reason }) => reason === 'unconfirmed'),
      text: answer.text,
    });
  }
  return results;
}

const INTACT = expect.objectContaining({ works: true, unconfirmed: false }) as unknown;

export function useProofs(proofs: Proofs, config: Readonly<Record<string, unknown>>): void {
  const KINDS = Object.entries(proofs);
  let world: OpenWorld;

  describe('on lmdb', () => {
    const limitFiles = (to: number | 'unlimited') =>
      execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${to}:`]);
    beforeAll(async () => {
      world = await startWorld({ config });
      return () => world.stop();
    });
    afterEach(() => void limitFiles('unlimited'));
    const heal = async () => limitFiles('unlimited');

    it.each(KINDS)('F1-06: %s works after a 503 of a full disk', async (_, make) => {
      const file = path.join(world.folder, 'data', 'data.mdb');
      /** Leaves more or less room in each round: a small write may succeed where a larger one fails. */
      async function fill(round: number): Promise<void> {
        limitFiles(Math.floor((await stat(file)).size / 4096) * 4096);
        for (const length of [100_000, 20_000, 4000, 500].slice(0, 4 - round)) {
          const filler = { kind: 'Filler', payload: 'x'.repeat(length), ttlSeconds: 60 };
          const put = () => world.openedStore.records.save({ ...filler, key: randomUUID() });
          while (await put().then(Boolean, () => false));
        }
      }
      // A small write may still find room.
      for (const result of await walk(world, make, { break: fill, heal }, 1)) expect(result).toEqual(INTACT);
    });

    it.each(KINDS)('F1-06: %s works after a 503 of a store that is read-only', async (_, make) => {
      expect(await walk(world, make, { break: async () => limitFiles(0), heal }, 1)).toEqual([INTACT]);
    });
  });

  describe('on Redis with replicas', () => {
    let group: Awaited<ReturnType<typeof startSentinel>>;
    beforeAll(async () => {
      group = await startSentinel();
      world = await startWorld({ store: group.url, config });
      return async () => {
        await world.stop();
        await group.stop();
      };
    });

    it.each(KINDS)('F1-06: %s works after a 503 of a frozen replica', async (_, make) => {
      const [replica] = await group.replicas();
      const freeze = async () => replica?.pause();
      const heal = async () => (replica?.resume(), bobSignedIn(world));
      expect(await walk(world, make, { break: freeze, heal }, 1)).toEqual([INTACT]);
    });

    it.each(KINDS)('F1-06: %s works after a 503 of a store that is read-only', async (_, make) => {
      const set = async (least: number) =>
        group.ask(await group.master(), (redis) => redis.config('SET', 'min-replicas-to-write', least));
      expect(await walk(world, make, { break: () => set(9), heal: () => set(0) }, 1)).toEqual([INTACT]);
    });
  });

  describe('on Redis behind a network that is cut', () => {
    let proxy: Awaited<ReturnType<typeof startProxy>>;
    beforeAll(async () => {
      const server = await startRedis();
      proxy = await startProxy(server.port);
      world = await startWorld({ store: proxy.url, config });
      return async () => {
        await world.stop();
        await proxy.close();
        await server.stop();
      };
    });

    // Verifying a password takes longer than many rounds. An interrupted way back is started again (docs/redis.md).
    const REPEATABLE = KINDS.filter(([kind]) => !/password$|^the way back/.test(kind));
    it.each(REPEATABLE)('F1-06: %s works after a 503, or the audit trail denies it', async (kind, make) => {
      const cut = async (round: number) => proxy.cutAfter(round);
      const heal = async () => {
        proxy.heal();
        await vi.waitFor(async () => expect((await fetch(`${world.management}/readyz`)).status).toBe(200));
      };
      const results = await walk(world, make, { break: cut, heal }, Infinity);
      for (const { works, unconfirmed } of results) expect([works, unconfirmed]).not.toEqual([false, false]);
      expect(results).toContainEqual(INTACT);
      const unsure = results.filter(({ unconfirmed }) => unconfirmed);
      expect(unsure).not.toEqual([]);
      const ofCode = /recovery|one-time/.test(kind)
        ? 'That code may already have been used. Use another one.'
        : '';
      const said = kind.startsWith('a link') ? 'This link may have been used' : ofCode;
      for (const { text } of unsure) expect(text).toContain(said);
    });
  });
}
