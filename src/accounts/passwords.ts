// Password hashes: argon2id in a bounded queue, so that a wave of sign-ins can't starve the rest of the process.
// Owns cost and queue; who may try and how often is sign-in.ts and limits/.
import { hash, verify } from '@node-rs/argon2';

/** OWASP Password Storage: argon2id, 19 MiB, t=2, p=1. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Verified when the person doesn't exist, so that the answer takes as long as for one who does (LG-19). */
const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';

/** Longer ones are refused before any work is done on them. */
export const MAX_PASSWORD_LENGTH = 1024;

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
}

/** `concurrency` hashes run at once, `queueLimit` wait. */
export function createPasswords(concurrency: number, queueLimit: number): Passwords {
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

  return {
    async verify(passwordHash, password) {
      await enter();
      try {
        const matches = await verify(passwordHash ?? DUMMY_HASH, password);
        return matches && passwordHash !== undefined;
      } finally {
        leave();
      }
    },
  };
}

/** A PHC string of the policy above. */
export async function hashPassword(password: string): Promise<string> {
  return hash(password, COST);
}
