// Compares password hashes: argon2id in a bounded queue, so that a wave of sign-ins can't starve the rest of the process.
import { hash } from '@node-rs/argon2';
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import { createHashingThreads, PasswordQueueFull } from './hashing-threads.ts';
import { judgePassword, normalizePassword, passwordContext, type PasswordOwner } from './password-rules.ts';

/** OWASP Password Storage: argon2id, 19 MiB, t=2, p=1. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Verified if the user doesn't exist, so that the response takes as long as for a user who does. */
const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';

/** Each kind of caller has its own queue, so that a crowd in one doesn't make the service "busy" for the other. */
export type Share = 'trusted browser' | 'unknown browser';

export type Passwords = ReturnType<typeof createPasswords>;

type Waiter = Readonly<{ share: Share; enter: () => void; refuse: (error: Error) => void }>;

/** A semaphore: `concurrency` hashes run at once, and up to `queueLimit` of each share wait. */
export function createPasswords(concurrency: number, queueLimit: number) {
  const threads = createHashingThreads();
  let running = 0;
  const waiting: Waiter[] = [];
  let lastServed: Share | undefined;

  async function enter(share: Share): Promise<void> {
    if (running < concurrency) {
      running += 1;
      return;
    }
    if (waiting.filter((one) => one.share === share).length >= queueLimit) throw new PasswordQueueFull();
    await new Promise<void>((resolve, reject) => waiting.push({ share, enter: resolve, refuse: reject }));
  }

  /** Passes the slot on, if possible to another share than the last one, or frees it. */
  function leave(): void {
    const other = waiting.findIndex(({ share }) => share !== lastServed);
    const [next] = waiting.splice(Math.max(0, other), 1);
    if (next === undefined) running -= 1;
    lastServed = next?.share;
    next?.enter();
  }

  /** Runs work that costs what a hash does. Throws PasswordQueueFull. */
  async function run<T>(work: () => Promise<T>, share: Share = 'unknown browser'): Promise<T> {
    await enter(share);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return {
    run,
    /** `passwordHash` undefined costs the same and resolves false. Throws PasswordQueueFull. */
    async verify(passwordHash: string | undefined, password: string, share?: Share): Promise<boolean> {
      const matches = await run(() => threads.verify(passwordHash ?? DUMMY_HASH, password), share);
      return matches && passwordHash !== undefined;
    },
    /** Rejects waiting and running comparisons with PasswordQueueFull. */
    async close(): Promise<void> {
      for (const { refuse } of waiting.splice(0)) refuse(new PasswordQueueFull());
      await threads.close();
    },
  };
}

/** `by`: the link or the user. */
type Wanted = Readonly<Record<'password' | 'by' | 'address', string>> & { readonly owner: PasswordOwner };

/** If more are waiting, a request is rejected, and the user can try again later. */
const MAX_WAITING = 10;

/** Checks and hashes the new passwords that users choose on a page, one at a time. */
export function createMakePassword(config: Config, limits: Pick<Limits, 'takeNewPassword'>) {
  const queue = createPasswords(1, MAX_WAITING);
  /** Throws PasswordQueueFull and TooManyRequests. */
  return async ({ password, owner, by, address }: Wanted) => {
    await limits.takeNewPassword(by, address);
    return queue.run(async () => {
      const fault = await judgePassword(password, passwordContext(config, owner));
      return fault === undefined ? { passwordHash: await hashPassword(password) } : { fault };
    });
  };
}

/** Resolves a PHC string. */
export async function hashPassword(password: string): Promise<string> {
  return hash(normalizePassword(password), COST);
}

/** The cost of verifying a hash (`$argon2id$v=…$m=…,t=…,p=…`). Default: the cost of the policy above. */
export const costOf = (passwordHash: string = DUMMY_HASH) => passwordHash.split('$').slice(0, 4).join('$');

/** A hash with this cost, of a password that no one knows. */
export const decoyOf = (cost: string) => `${cost}${DUMMY_HASH.slice(costOf().length)}`;

/** `passwordHash`: argon2id, PHC string. */
export function isWeakerThanPolicy(passwordHash: string): boolean {
  const [memory = 0, passes = 0] = (/\$m=(\d+),t=(\d+),/.exec(passwordHash) ?? []).slice(1).map(Number);
  // For OWASP's other choices of the same strength, the product is up to a tenth smaller.
  return memory * passes < 0.9 * COST.memoryCost * COST.timeCost;
}
