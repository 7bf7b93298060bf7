// The rotation job of one node: reads the ring, does the step that is due, and hands the service a new key set when the
// ring or the clock says so. Owns when; what a step is lies in ring-steps.ts, what a swap means lies with the caller.
import type { Clock } from '../store/store.ts';
import type { KeySet } from './key-set.ts';
import type { KeyStore } from './key-store.ts';
import { stateOf, type Ring } from './keyring.ts';
import { runDueSteps } from './ring-actions.ts';
import { KeyStoreError } from './ring-document.ts';
import { SKEW_SECONDS } from './timing.ts';

/** Below the 5 s in which a compromised key must be gone everywhere, with room for the swap. */
const POLL_MS = 4000;
const LEASE_SECONDS = 600;
/** A retired key outlives its last token by C, an hour at least: within that a node may go on without the store. */
const MAX_LEASE_SECONDS = 3600;

/** Calls `fire` once after `delayMs`; the result cancels it. */
export type Timer = (fire: () => void, delayMs: number) => () => void;

export type RotationOptions = {
  readonly keyStore: KeyStore;
  readonly now: Clock;
  /** Called, one at a time, with each new picture of the ring; the swap counts once it resolves. Rejecting keeps the old set. */
  readonly onKeySet: (keySet: KeySet) => Promise<void> | void;
  readonly onError: (error: unknown) => void;
  /** Awaited at the start, and before each turn. */
  readonly beforeTurn?: (() => Promise<void>) | undefined;
  readonly pollMs?: number | undefined;
  /** How long this node may sign after its key set was last confirmed. */
  readonly leaseSeconds?: number | undefined;
  readonly timer?: Timer | undefined;
};

export type RotationStatus = {
  /** Of the key set that serves. */
  readonly generation: number;
  /** Of the ring that was read last. Another than `generation` for longer than P: this node is behind. */
  readonly storedGeneration: number;
  /** When the ring was last read, epoch milliseconds. */
  readonly readAt: number;
  /** When the key set that serves was last what the store has, epoch milliseconds. */
  readonly confirmedAt: number;
  /** See `signingAllowed`. */
  readonly maySign: boolean;
  /** Why the stored keys can't be used, in words for operators; undefined also while the store can't be asked. */
  readonly problem: string | undefined;
};

export interface Rotation {
  /** Ensures the ring, hands out the first key set and begins to poll. Rejects when the keys can't be used. */
  start(): Promise<void>;
  /** No further swap begins; resolves when the one under way has ended. */
  stop(): Promise<void>;
  /** The key set that serves. Throws before `start`. */
  current(): KeySet;
  status(): RotationStatus;
  /** As it was last read. Throws before `start`. */
  ring(): Ring;
  /** Reads the ring now: after a hint, a compromise, a pause. Never rejects: `onError` hears of failures. */
  refresh(): Promise<void>;
  /** One turn of the job, as the poll does it. */
  tick(): Promise<void>;
  /** False once nothing was confirmed for the lease: keys may be gone that this node still has. The answer is then 503. */
  signingAllowed(): boolean;
}

/** Throws TypeError for a lease that a removed key would not outlive. */
export function createRotation(options: RotationOptions): Rotation {
  const { leaseSeconds = LEASE_SECONDS } = options;
  if (!(leaseSeconds > 0 && leaseSeconds <= MAX_LEASE_SECONDS)) {
    throw new TypeError(`leaseSeconds must be above 0 and at most ${MAX_LEASE_SECONDS}`);
  }
  return new RotationJob({ ...options, leaseSeconds });
}

const startTimer: Timer = (fire, delayMs) => {
  const timeout = setTimeout(fire, delayMs).unref();
  return () => clearTimeout(timeout);
};

class RotationJob implements Rotation {
  readonly #options: RotationOptions & { readonly leaseSeconds: number };
  #ring: Ring | undefined;
  #current: { readonly keySet: KeySet; readonly view: string } | undefined;
  /** When `#ring` was what the store has. */
  #readAt = Number.NEGATIVE_INFINITY;
  /** When `#current` was. */
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;
  #isRunning = false;
  #cancelTimer: (() => void) | undefined;
  /** All turns, one after the other: two swaps at once could end in the wrong order. */
  #turns: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor(options: RotationOptions & { readonly leaseSeconds: number }) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#options.beforeTurn?.();
    const at = this.#options.now();
    this.#ring = await this.#options.keyStore.ensure();
    this.#readAt = at;
    await this.#swap();
    this.#confirmedAt = at;
    this.#isRunning = true;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelTimer?.();
    await (this.#waiting ?? this.#turns);
  }

  current(): KeySet {
    if (this.#current === undefined) throw new Error('the rotation job has not started');
    return this.#current.keySet;
  }

  ring(): Ring {
    if (this.#ring === undefined) throw new Error('the rotation job has not started');
    return this.#ring;
  }

  status(): RotationStatus {
    const { generation } = this.current();
    return {
      generation,
      storedGeneration: this.#ring?.generation ?? generation,
      readAt: this.#readAt,
      confirmedAt: this.#confirmedAt,
      maySign: this.signingAllowed(),
      problem: this.#problem,
    };
  }

  refresh(): Promise<void> {
    // The turn under way may have read before the change that this call is about; the one that waits has not.
    this.#waiting ??= this.#turns.then(() => {
      this.#waiting = undefined;
      this.#turns = this.#turn();
      return this.#turns;
    });
    return this.#waiting;
  }

  tick(): Promise<void> {
    return this.refresh();
  }

  signingAllowed(): boolean {
    const age = this.#options.now() - this.#confirmedAt;
    // A clock that was set back would stretch the lease.
    return age <= this.#options.leaseSeconds * 1000 && age >= -SKEW_SECONDS * 1000;
  }

  async #turn(): Promise<void> {
    await this.#attempt(async () => this.#options.beforeTurn?.());
    const at = this.#options.now();
    const isRead = await this.#attempt(async () => {
      this.#ring = await this.#loadOrRestore();
      this.#readAt = at;
      this.#problem = undefined;
    });
    // Before the steps, so that a compromise never waits for a key to be made. And without the store too: appointments
    // are kept by the clock.
    const isSwapped = await this.#attempt(() => this.#swap());
    if (!isRead) return;
    // A set that can't be swapped in isn't confirmed: the one that serves may hold a key that others have removed.
    if (isSwapped) this.#confirmedAt = at;
    const { keyStore, now } = this.#options;
    await this.#attempt(async () => {
      this.#ring = await runDueSteps(keyStore, now, this.#ring);
      await this.#swap();
    });
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof KeyStoreError) this.#note(error);
      this.#options.onError(error);
      return false;
    }
  }

  #note({ code, message }: KeyStoreError): void {
    this.#problem = message;
    // What is revoked with the keys and the pepper of the other nodes is not revoked here: nothing more is signed.
    if (code === 'foreign') this.#confirmedAt = Number.NEGATIVE_INFINITY;
  }

  async #loadOrRestore(): Promise<Ring> {
    const { keyStore, onError } = this.#options;
    try {
      return await keyStore.load();
    } catch (error) {
      const isLoss = error instanceof KeyStoreError && ['rolled_back', 'missing'].includes(error.code);
      if (!isLoss) throw error;
      onError(error);
      return await keyStore.restore();
    }
  }

  async #swap(): Promise<void> {
    const { keyStore, now, onKeySet, leaseSeconds } = this.#options;
    if (this.#ring === undefined) return;
    // Beyond the lease nothing is signed here, and appointments may have been cancelled elsewhere: what is published then
    // stays as it is, so that no key leaves on an old plan.
    const at = Math.min(now(), this.#readAt + leaseSeconds * 1000);
    const view = viewOf(this.#ring, at);
    if (view === this.#current?.view) return;
    const keySet = keyStore.toKeySet(this.#ring, at);
    await onKeySet(keySet);
    this.#current = { keySet, view };
  }

  #arm(): void {
    if (!this.#isRunning) return;
    const { now, timer = startTimer } = this.#options;
    this.#cancelTimer = timer(() => {
      void this.tick().then(() => this.#arm());
    }, this.#delay(now()));
  }

  /** Until the next poll, or the appointment that comes before it. */
  #delay(now: number): number {
    const { pollMs = POLL_MS } = this.#options;
    const appointments = (this.#ring?.keys ?? []).flatMap(({ activateAt, retireAt, removeAt }) =>
      [activateAt, retireAt, removeAt].flatMap((at) => (at !== undefined && at > now ? at - now : [])),
    );
    return Math.min(pollMs, ...appointments);
  }
}

/** All that a key set depends on: the ring's generation, and what the clock makes of its keys. */
function viewOf(ring: Ring, now: number): string {
  return JSON.stringify([ring.generation, ...ring.keys.map((key) => [key.kid, stateOf(key, now)])]);
}
