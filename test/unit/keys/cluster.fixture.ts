// Several nodes on one store, each with its own clock, for the histories of ring-history.test.ts. It observes every node like
// a verifier, and throws as soon as a guarantee of signing keys is broken.
import { expect } from 'vitest';
import { type Algorithm, ALGORITHMS } from '../../../src/config/signing-algorithms.ts';
import { familyOf, nextFamilyStep } from '../../../src/keys/families.ts';
import type { KeyStore } from '../../../src/keys/key-store.ts';
import {
  activeKey,
  canSign,
  publishedKeys,
  reserveKeys,
  scheduledKeys,
  stateOf,
  type KeyState,
  type Ring,
  type RingKey,
} from '../../../src/keys/ring.ts';
import { compromiseKey, rotateByHand, runDueSteps } from '../../../src/keys/ring-actions.ts';
import { createWorld, SECOND, TIMING, type World } from './keys.fixture.ts';
import { type Moment, withMoments } from './moments.fixture.ts';

const LEASE = 600 * SECOND;
const POLL = 5 * SECOND;
const RANK: Record<KeyState, number> = {
  published: 0,
  active: 1,
  retired: 2,
  removed: 3,
  compromised: 4,
};

class Node {
  readonly keyStore: KeyStore;
  readonly now: () => number;
  ring: Ring | undefined;
  confirmedAt = -Infinity;
  isCut = false;
  cutAt = -Infinity;
  killAt: Moment | undefined;
  /** kid -> since when this node has published it, true time. */
  readonly publishedSince = new Map<string, number>();
  readonly states = new Map<string, KeyState>();

  constructor(world: World, skew: number, algorithms: readonly Algorithm[]) {
    this.now = () => world.clock.now + skew;
    this.keyStore = world.process({
      now: this.now,
      algorithms,
      ...withMoments(world, (moment) => {
        if (moment !== this.killAt) return;
        this.killAt = undefined;
        throw new Error('killed');
      }),
    });
  }

  async poll(): Promise<void> {
    if (this.isCut) return;
    this.ring = await this.keyStore.load();
    this.confirmedAt = this.now();
    await this.attempt(async () => {
      this.ring = await runDueSteps(this.keyStore);
    });
  }

  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Error && error.message === 'killed')) throw error;
      this.ring = await this.keyStore.load();
    }
  }

  /** The time up to which this node follows its ring, as in rotation.ts. */
  get seenTime(): number {
    return Math.min(this.now(), this.confirmedAt + LEASE);
  }

  get maySign(): boolean {
    return this.ring !== undefined && this.now() - this.confirmedAt <= LEASE;
  }
}

export class Cluster {
  readonly #world = createWorld();
  readonly nodes: readonly Node[];
  /** kid -> when the last token that it signed expires, true time. */
  readonly #liveUntil = new Map<string, number>();
  readonly #signed = new Set<string>();
  /** Kids that may sign without having been published for long: the first key, and successors of a compromised one. */
  readonly #exempt = new Set<string>();
  readonly #compromised = new Map<string, number>();
  #generation = 0;
  rotations = 0;

  /** The algorithms in the file of every node. */
  algorithms: readonly Algorithm[];

  /** `skews` in milliseconds. */
  constructor(skews: readonly number[], algorithms: readonly Algorithm[] = ['RS256']) {
    this.algorithms = algorithms;
    this.nodes = skews.map((skew) => new Node(this.#world, skew, algorithms));
  }

  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.keyStore.ensure()));
    await Promise.all(this.nodes.map((node) => node.poll()));
    const { ring } = this.#node(0);
    if (ring !== undefined) this.#exemptActive(ring);
    this.#observe();
  }

  /** Lets time pass. It stops at each moment that the ring names; nothing happens in between. */
  async advance(duration: number, isAtOnce: boolean): Promise<void> {
    const end = this.#world.clock.now + duration;
    while (this.#world.clock.now < end) {
      this.#world.clock.now = Math.min(end, this.#nextMoment());
      // All polls on the way found the same as the last one.
      for (const node of this.nodes) if (!node.isCut) node.confirmedAt = node.now();
      this.#observe();
      await this.#pollAll(isAtOnce);
    }
  }

  async rotate(index: number): Promise<void> {
    const node = this.#node(index);
    if (node.isCut) return;
    await node.attempt(async () => {
      node.ring = await rotateByHand(node.keyStore);
    });
    this.#observe();
    await this.#pollAll(false);
  }

  async compromise(index: number, which: number): Promise<void> {
    const node = this.#node(index);
    if (node.isCut || node.ring === undefined) return;
    const live = publishedKeys(node.ring, node.now());
    const kid = live[which % live.length]?.kid ?? '';
    await node.attempt(async () => {
      node.ring = await compromiseKey(node.keyStore, kid);
    });
    if (node.ring.keys.every((key) => key.kid !== kid || key.compromisedAt === undefined)) return;
    this.#compromised.set(kid, this.#world.clock.now);
    this.#exemptActive(node.ring);
    this.#observe();
    await this.#pollAll(false);
  }

  /** Gives all nodes another file. */
  async name(algorithms: readonly Algorithm[]): Promise<void> {
    this.algorithms = algorithms;
    for (const { keyStore } of this.nodes) keyStore.change({ algorithms });
    await this.#pollAll(false);
  }

  cut(index: number): void {
    const node = this.#node(index);
    if (node.isCut) return;
    node.isCut = true;
    node.cutAt = this.#world.clock.now;
  }

  async mend(index: number): Promise<void> {
    const node = this.#node(index);
    node.isCut = false;
    await node.poll();
    this.#observe();
  }

  killAt(index: number, moment: Moment): void {
    this.#node(index).killAt = moment;
  }

  /** Polls in rounds until nothing changes: all at one moment, or each node at its own moment within the poll interval. */
  async #pollAll(isAtOnce: boolean): Promise<void> {
    for (let round = 0; round < 50; round += 1) {
      const before = this.#stored();
      if (isAtOnce) {
        await Promise.all(this.nodes.map((node) => node.poll()));
        this.#observe();
        this.#world.clock.now += POLL;
      } else {
        for (const node of this.nodes) {
          await node.poll();
          this.#observe();
          this.#world.clock.now += POLL / this.nodes.length;
        }
      }
      this.#observe();
      const after = this.#stored();
      expect(after, 'a generation never goes back').toBeGreaterThanOrEqual(this.#generation);
      this.#generation = after;
      if (before === after && this.nodes.every((node) => node.isCut || node.ring?.generation === after))
        return;
    }
    throw new Error('the ring never comes to rest');
  }

  #nextMoment(): number {
    const { now } = this.#world.clock;
    const moments = this.nodes.flatMap((node) => {
      if (node.ring === undefined) return [];
      const skew = node.now() - now;
      const due = nextFamilyStep(node.ring, this.algorithms, { now: node.now(), timing: TIMING })?.at;
      const times = node.ring.keys.flatMap(({ activateAt, retireAt, removeAt }) => [
        activateAt,
        retireAt,
        removeAt,
      ]);
      const lease = node.isCut ? [node.confirmedAt + LEASE] : [];
      return [due, ...times, ...lease].flatMap((at) => (at === undefined ? [] : [at - skew]));
    });
    return Math.min(Infinity, ...moments.flatMap((at) => (at > now ? [at] : [])));
  }

  #observe(): void {
    for (const node of this.nodes) {
      if (node.ring === undefined) continue;
      this.#checkRing(node, node.ring);
      this.#checkStates(node, node.ring);
      this.#sign(node, node.ring);
    }
    for (const node of this.nodes) {
      if (node.ring !== undefined) this.#checkLiveTokens(node, node.ring);
    }
  }

  #checkRing(node: Node, ring: Ring): void {
    const now = node.seenTime;
    for (const alg of ALGORITHMS) {
      const family = familyOf(ring, alg);
      if (alg !== 'RS256' && !canSign(family, now)) continue;
      const active = family.keys.filter((key) => stateOf(key, now) === 'active');
      expect(active.length, 'exactly one key of a family is active').toBe(1);
      // Another family gets one with its next step, and none while its algorithm is removed from the file.
      if (alg === 'RS256')
        expect(reserveKeys(family).length, 'one key is in reserve').toBeGreaterThanOrEqual(1);
      expect(scheduledKeys(family, now).length, 'one appointment at most').toBeLessThanOrEqual(2);
      for (const key of [...active, ...reserveKeys(family)])
        expect(key.sealed, 'what signs has its private part').toBeDefined();
    }
    const kids = [...ring.keys, ...ring.gone].map((key) => key.kid);
    expect(new Set(kids).size, 'a kid never returns').toBe(kids.length);
    for (const key of ring.keys) {
      if (key.compromisedAt !== undefined) expect(key.sealed).toBeUndefined();
    }
  }

  #checkStates(node: Node, ring: Ring): void {
    const now = node.seenTime;
    const published = new Set(publishedKeys(ring, now).map((key) => key.kid));
    for (const key of ring.keys) {
      const state = stateOf(key, now);
      const before = node.states.get(key.kid) ?? 'published';
      expect(RANK[state], `${key.kid}: ${before} -> ${state}`).toBeGreaterThanOrEqual(RANK[before]);
      node.states.set(key.kid, state);
      const isPublished = state === 'published' || state === 'active' || state === 'retired';
      expect(published.has(key.kid), `${key.kid} is ${state}`).toBe(isPublished);
      if (isPublished && !node.publishedSince.has(key.kid)) {
        node.publishedSince.set(key.kid, this.#world.clock.now);
      }
    }
  }

  #sign(node: Node, ring: Ring): void {
    if (!node.maySign) return;
    for (const alg of ALGORITHMS) {
      const key = activeKey(familyOf(ring, alg), node.seenTime);
      if (key !== undefined) this.#signWith(key, node);
    }
  }

  #signWith({ kid, activateAt = 0, publishedAt }: RingKey, node: Node): void {
    const { now } = this.#world.clock;
    // The first key of a family signs at once.
    if (activateAt < publishedAt) this.#exempt.add(kid);
    const compromisedAt = this.#compromised.get(kid);
    if (compromisedAt !== undefined && !node.isCut) {
      expect(now - compromisedAt, `${kid} signs after its compromise`).toBeLessThanOrEqual(POLL);
    }
    const expires = node.now() + TIMING.tokenLife * SECOND;
    this.#liveUntil.set(kid, Math.max(expires, this.#liveUntil.get(kid) ?? 0));
    if (this.#signed.has(kid)) return;
    this.#signed.add(kid);
    this.rotations += 1;
    if (this.#exempt.has(kid)) return;
    for (const each of this.nodes) {
      const since = each.publishedSince.get(kid);
      if (since === undefined && each.isCut) continue;
      expect(since, `${kid} signs before a node publishes it`).toBeDefined();
      if (each.isCut || each.cutAt > -Infinity) continue;
      expect(now - (since ?? now), `${kid} signs before caches can know it`).toBeGreaterThanOrEqual(
        TIMING.cache * SECOND,
      );
    }
  }

  #checkLiveTokens(node: Node, ring: Ring): void {
    const { now } = this.#world.clock;
    const published = new Set(publishedKeys(ring, node.seenTime).map((key) => key.kid));
    for (const [kid, until] of this.#liveUntil) {
      if (this.#compromised.has(kid)) {
        if (node.isCut || now - (this.#compromised.get(kid) ?? now) <= POLL) continue;
        expect(published.has(kid), `${kid} is compromised and still published`).toBe(false);
      } else if (until > now && node.publishedSince.has(kid)) {
        expect(published.has(kid), `${kid} has live tokens and is not published`).toBe(true);
      }
    }
  }

  #exemptActive(ring: Ring): void {
    for (const alg of ALGORITHMS) {
      for (const each of this.nodes) this.#exempt.add(activeKey(familyOf(ring, alg), each.now())?.kid ?? '');
    }
  }

  #stored(): number {
    const value = this.#world.documents.peek('keys', 'ring')?.value ?? '{}';
    const { body }: { body: string } = JSON.parse(value);
    const { ring }: { ring: Ring } = JSON.parse(body);
    return ring.generation;
  }

  #node(index: number): Node {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined) throw new Error('a cluster has nodes');
    return node;
  }
}
