// Our own threads for comparing passwords: in Node's pool, which signs tokens, signatures would wait behind hashes. passwords.ts
// decides which caller waits for a thread.
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** `passwordHash`: a PHC string. */
export type HashTask = Readonly<{ passwordHash: string; password: string }>;

/** The queue is full, a thread ended, or the service stops. The caller responds 503 with Retry-After. */
export class PasswordQueueFull extends Error {
  readonly retryAfterSeconds = 1;

  constructor(options?: ErrorOptions) {
    super('too many sign-ins are being checked', options);
    this.name = 'PasswordQueueFull';
  }
}

/** `.ts` if the sources run without a build. */
const ENTRY = new URL(`./hashing-thread-entry${extname(import.meta.url)}`, import.meta.url);

/** Starts no thread before there is a password. No thread keeps the process from ending. */
export function createHashingThreads() {
  const threads = new Set<Worker>();
  const idle = new Set<Worker>();

  function start(): Worker {
    // The thread gets no secrets of the environment, and no modules of `--import`.
    const thread = new Worker(ENTRY, { env: {}, execArgv: [] });
    thread.unref();
    threads.add(thread);
    // The caller's promise rejects. A thread that has ended gets no more work.
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      threads.delete(thread);
      idle.delete(thread);
    });
    return thread;
  }

  return {
    /** Rejects if the hash can't be read, and with PasswordQueueFull if the thread ends. The caller limits calls: each takes a thread. */
    async verify(passwordHash: string, password: string): Promise<boolean> {
      const [thread = start()] = idle;
      idle.delete(thread);
      thread.postMessage({ passwordHash, password } satisfies HashTask);
      const matches = await answerOf(thread);
      idle.add(thread);
      return matches;
    },
    /** Ends all threads. Pending comparisons reject. */
    async close(): Promise<void> {
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

/** Rejects if the thread fails or ends, after which it isn't used again. */
function answerOf(thread: Worker): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new PasswordQueueFull({ cause: new Error('a password thread exited') }));
    thread.once('error', reject);
    thread.once('exit', stop);
    thread.once('message', (matches: boolean) => {
      thread.off('error', reject);
      thread.off('exit', stop);
      resolve(matches);
    });
  });
}
