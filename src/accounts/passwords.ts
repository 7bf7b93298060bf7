// Password hashes: argon2id in a bounded queue, so that a wave of sign-ins can't starve the rest of the process.
// Owns cost and queue; who may try and how often is sign-in.ts and limits/.
import { hash } from '@node-rs/argon2';
import { createHashingThreads } from './hashing-threads.ts';
import { normalizePassword } from './password-rules.ts';

/** OWASP Password Storage: argon2id, 19 MiB, t=2, p=1. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Verified when the person doesn't exist, so that the answer takes as long as for one who does (LG-19). */
const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';

/** The queue is full; the caller answers 503 with Retry-After. */
export class PasswordQueueFull extends Error {
  readonly retryAfterSeconds = 1;

  constructor() {
    super('too many sign-ins are being checked');
    this.name = 'PasswordQueueFull';
  }
}

export interface Passwords {
  /** `passwordHash` undefined costs the same and resolves false. Throws PasswordQueueFull. */
  verify(passwordHash: string | undefined, password: string): Promise<boolean>;
  /** Runs other work that costs what a hash does, in the same queue. Throws PasswordQueueFull. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** For when nobody asks any more. */
  close(): Promise<void>;
}

/** `concurrency` hashes run at once, `queueLimit` wait. */
export function createPasswords(concurrency: number, queueLimit: number): Passwords {
  const threads = createHashingThreads();
  let running = 0;
  const waiting: (() => void)[] = [];

  async function enter(): Promise<void> {
    if (running < concurrency) {
      running += 1;
      return;
    }
    if (waiting.length >= queueLimit) throw new PasswordQueueFull();
    // The one who leaves hands its place over, so `running` doesn't change.
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  async function run<T>(work: () => Promise<T>): Promise<T> {
    await enter();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return {
    run,
    async verify(passwordHash, password) {
      const matches = await run(() => threads.verify(passwordHash ?? DUMMY_HASH, password));
      return matches && passwordHash !== undefined;
    },
    close: () => threads.close(),
  };
}

/** A PHC string of the policy above, of the password in the form that sign-in compares. */
export async function hashPassword(password: string): Promise<string> {
  return hash(normalizePassword(password), COST);
}

/** What it costs to verify a hash (`$argon2id$v=…$m=…,t=…,p=…`); of none, what the policy above costs. */
export function costOf(passwordHash: string = DUMMY_HASH): string {
  return passwordHash.split('$').slice(0, 4).join('$');
}

/** Whether a hash costs less to guess than the policy wants (LG-29). `passwordHash`: argon2id, PHC string. */
export function isWeakerThanPolicy(passwordHash: string): boolean {
  const [memory = 0, passes = 0] = (/\$m=(\d+),t=(\d+),/.exec(passwordHash) ?? []).slice(1).map(Number);
  // OWASP's other choices of the same strength have up to a tenth less of both together.
  return memory * passes < 0.9 * COST.memoryCost * COST.timeCost;
}
