// Threads of our own for comparing passwords: Node's pool signs tokens, which would wait behind hashes there. Which caller waits
// for a thread is decided in passwords.ts.
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** `passwordHash`: a PHC string. */
export type HashTask = { readonly passwordHash: string; readonly password: string };

/** The thread ended before it had compared. */
export class HashingStopped extends Error {
  constructor() {
    super('a password thread exited');
    this.name = 'HashingStopped';
  }
}

/** `.ts` where the sources run as they are. */
const ENTRY = new URL(`./hashing-thread-entry${extname(import.meta.url)}`, import.meta.url);

/** No thread is started before there is a password, and none keeps the process from ending. */
export function createHashingThreads() {
  const threads = new Set<Worker>();
  const idle = new Set<Worker>();

  function start(): Worker {
    // No secret of the environment, and nothing that the operator loads into the process (`--import`).
    const thread = new Worker(ENTRY, { env: {}, execArgv: [] });
    thread.unref();
    threads.add(thread);
    // The caller's promise has the failure; a thread that has ended gets no more work.
    thread.on('error', () => undefined);
    thread.once('exit', () => {
      threads.delete(thread);
      idle.delete(thread);
    });
    return thread;
  }

  return {
    /** Rejects when the hash can't be read, and with HashingStopped. The caller asks for no more at once than there may be threads. */
    async verify(passwordHash: string, password: string): Promise<boolean> {
      const [thread = start()] = idle;
      idle.delete(thread);
      thread.postMessage({ passwordHash, password } satisfies HashTask);
      const matches = await answerOf(thread);
      idle.add(thread);
      return matches;
    },
    /** What the threads were comparing rejects. */
    async close(): Promise<void> {
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

/** Rejects when the thread fails or ends; it is not used again then. */
function answerOf(thread: Worker): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new HashingStopped());
    thread.once('error', reject);
    thread.once('exit', stop);
    thread.once('message', (matches: boolean) => {
      thread.off('error', reject);
      thread.off('exit', stop);
      resolve(matches);
    });
  });
}
