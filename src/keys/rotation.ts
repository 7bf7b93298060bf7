// The rotation job of one node: reads the ring, takes the steps that are due, and gives the service a new key set when the ring or
// the clock requires one. It also knows whether this node is up to date and may sign.
import type { Algorithm } from '../config/signing-algorithms.ts';
import type { Clock } from '../store/store.ts';
import type { KeySet } from './key-set.ts';
import type { KeyStore } from './key-store.ts';
import { stateOf, type Ring } from './ring.ts';
import { runDueSteps } from './ring-actions.ts';
import { KeyStoreError } from './vault.ts';
import { PROPAGATION_SECONDS, SKEW_SECONDS } from '../config/key-times.ts';

/** Less than the 5 s in which a compromised key must be gone everywhere, with time for the swap. */
const POLL_MS = 4000;
/** How long a node may sign without the store. Less than an hour, the least time that a retired key outlives its last token. */
const LEASE_MS = 600_000;

/** Calls `fire` once after `delayMs`. The result cancels it. */
export type Timer = (fire: () => void, delayMs: number) => () => void;

type RotationOptions = Readonly<{
  keyStore: KeyStore;
  /** Called with each new view of the ring, one at a time. The swap counts once it resolves. If it rejects, the old set stays. */
  onKeySet: (keySet: KeySet) => Promise<void> | void;
  onError: (error: unknown) => void;
  timer?: Timer | undefined;
}>;

const startTimer: Timer = (fire, delayMs) => {
  const timeout = setTimeout(fire, delayMs).unref();
  return () => clearTimeout(timeout);
};

export class Rotation {
  readonly #options: RotationOptions;
  readonly #now: Clock;
  #ring: Ring | undefined;
  #served: Readonly<{ keySet: KeySet; view: string }> | undefined;
  /** When `#ring` was equal to the stored ring. */
  #readAt = Number.NEGATIVE_INFINITY;
  /** When `#served` matched the stored ring. */
  #confirmedAt = Number.NEGATIVE_INFINITY;
  /** The same for the sets before it: requests that began with one still end with it. */
  readonly #replaced = new WeakMap<KeySet, number>();
  /** Why the stored keys can't be used. Undefined also while the store is unavailable. */
  #problem: string | undefined;
  #isRunning = false;
  #cancelTimer: (() => void) | undefined;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(options: RotationOptions) {
    this.#options = options;
    this.#now = options.keyStore.now;
  }

  /** Provides the first key set and starts to poll. Rejects if the keys can't be used. */
  async start(): Promise<void> {
    const at = this.#now();
    this.#ring = await this.#options.keyStore.load();
    this.#readAt = at;
    await this.#swap();
    this.#confirmedAt = at;
    this.#isRunning = true;
    this.#arm();
  }

  /** Resolves when the current turn has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelTimer?.();
    await this.#lastTurn;
  }

  /** Resolves a key set with a signing key for each of these. Throws as the store does. */
  async provideKeys(algorithms: readonly Algorithm[]): Promise<KeySet> {
    const { keyStore } = this.#options;
    const wanted = [...keyStore.algorithms, ...algorithms];
    return keyStore.toKeySet(await runDueSteps(keyStore, undefined, wanted));
  }

  /** The ring as last read. Throws before `start`. */
  ring(): Ring {
    if (!this.#ring) throw new Error('the rotation job has not started');
    return this.#ring;
  }

  /** False if the key set wasn't confirmed within the lease: other nodes may have removed keys. The response is then 503. */
  signingAllowed(keySet = this.#served?.keySet): boolean {
    const now = this.#now();
    const before = (keySet && this.#replaced.get(keySet)) ?? this.#confirmedAt;
    const confirmedAt = Math.min(before, this.#confirmedAt);
    // A clock that was set back would stretch the lease.
    return now - confirmedAt <= LEASE_MS && !wasSetBack(confirmedAt, now);
  }

  /** Why this node should get no requests, one line each. Empty while its keys are up to date. */
  problems(): readonly string[] {
    const now = this.#now();
    const problems = this.#problem === undefined ? [] : [`the stored keys can't be used: ${this.#problem}`];
    if (isOverdue(this.#readAt, now)) {
      problems.push(`the key ring could not be read for ${secondsSince(this.#readAt, now)} s`);
    }
    const [served, stored] = [this.#served?.keySet.generation, this.#ring?.generation];
    if (served !== stored && isOverdue(this.#confirmedAt, now)) {
      problems.push(`this node serves generation ${served} of the key ring, the store has ${stored}`);
    }
    const why = wasSetBack(this.#confirmedAt, now) ? 'the clock was set back: ' : '';
    if (!this.signingAllowed())
      problems.push(`${why}this node does not sign tokens until its keys are confirmed again`);
    return problems;
  }

  async #turn(): Promise<void> {
    const { keyStore } = this.#options;
    const isRead = await this.#attempt(async () => {
      // If the process was suspended during the read, the result may be old: read again.
      do {
        const at = this.#now();
        this.#ring = await keyStore.load();
        this.#readAt = at;
      } while (this.#now() - this.#readAt > LEASE_MS);
      this.#problem = undefined;
    });
    // Swaps before the steps, so that a compromise never waits for a new key. Also without the store, because scheduled keys start
    // to sign by the clock.
    const isSwapped = await this.#attempt(() => this.#swap());
    if (!isRead) return;
    // A set that can't be swapped in isn't confirmed: the served one may have a key that others have removed.
    if (isSwapped) this.#confirmedAt = this.#readAt;
    await this.#attempt(async () => {
      this.#ring = await runDueSteps(keyStore, this.#ring);
      await this.#swap();
    });
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof KeyStoreError) {
        this.#problem = error.message;
        // Revocations by the other nodes, with their keys and pepper, have no effect here, so this node stops signing.
        if (error.code === 'foreign') this.#confirmedAt = Number.NEGATIVE_INFINITY;
      }
      this.#options.onError(error);
      return false;
    }
  }

  async #swap(): Promise<void> {
    const { keyStore, onKeySet } = this.#options;
    if (!this.#ring) return;
    // After the lease, this node signs nothing, and other nodes may have changed the schedule. So the published keys stay as
    // they are, and no key is removed by an old schedule.
    const at = Math.min(this.#now(), this.#readAt + LEASE_MS);
    const view = viewOf(this.#ring, at);
    if (view === this.#served?.view) return;
    const keySet = keyStore.toKeySet(this.#ring, at);
    await onKeySet(keySet);
    if (this.#served) this.#replaced.set(this.#served.keySet, this.#confirmedAt);
    this.#served = { keySet, view };
  }

  /** Schedules the next turn after this one, so that two swaps never overlap. */
  #arm(): void {
    if (!this.#isRunning) return;
    const { timer = startTimer } = this.#options;
    this.#cancelTimer = timer(() => {
      this.#lastTurn = this.#turn().then(() => this.#arm());
    }, this.#delay(this.#now()));
  }

  /** Time until the next poll, or until a scheduled change before it. */
  #delay(now: number): number {
    const appointments = this.ring().keys.flatMap(({ activateAt, retireAt, removeAt }) =>
      [activateAt, retireAt, removeAt].flatMap((at) => (at !== undefined && at > now ? at - now : [])),
    );
    return Math.min(POLL_MS, ...appointments);
  }
}

/** Everything that a key set depends on: the ring's generation, and the state of its keys by the clock. */
const viewOf = (ring: Ring, now: number) =>
  JSON.stringify([ring.generation, ...ring.keys.map((key) => [key.kid, stateOf(key, now)])]);

const wasSetBack = (since: number, now: number) => secondsSince(since, now) < -SKEW_SECONDS;

const isOverdue = (since: number, now: number) => secondsSince(since, now) > PROPAGATION_SECONDS;

const secondsSince = (since: number, now: number) => Math.floor((now - since) / 1000);
