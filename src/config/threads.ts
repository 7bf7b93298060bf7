// Sets the size of Node's thread pool, which signs tokens and commits to LMDB. Node reads it once, with the first task, so it is set before
// anything else is loaded. The pool has one thread more than cores, because an LMDB commit keeps one waiting for the disk. More threads are
// slower (docs/decisions/speed.md). Passwords have their own threads (users/hashing-threads.ts).
import { readdirSync } from 'node:fs';
import { availableParallelism, constants, getPriority, setPriority } from 'node:os';

const NAME = 'UV_THREADPOOL_SIZE';
const DEFAULT_OF_NODE = 4;

/** The administrator's setting. It wins here and in child processes. */
let own: string | undefined;

/** Called once, before anything else. */
export function sizeThreadPool(): void {
  own = process.env[NAME];
  process.env[NAME] = own ?? String(threadsFor(1));
}

/** The environment for each of `processes` that share the machine. */
export function threadPoolOf(processes: number): Readonly<Record<string, string>> {
  return { [NAME]: own ?? String(threadsFor(processes)) };
}

const threadsFor = (processes: number) => Math.ceil(availableParallelism() / processes) + 1;

/** One for each core of the process, unless the administrator sets the size of the pool: then one less than that. */
export function passwordThreads(): number {
  const threads = Number(process.env[NAME] ?? DEFAULT_OF_NODE);
  return Math.max(1, threads - 1);
}

/**
 * Lowers the priority of this thread; on Linux, each thread has its own. Many sign-ins at once then don't delay tokens: their p99 is
 * 7 ms instead of 12 to 20.
 */
export function lowerThreadPriority(): void {
  lower(0, constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Lowers the priority of all threads of this process, of V8 and future ones, too: everything else comes first, even passwords. */
export function lowerProcessPriority(): void {
  if (process.platform !== 'linux') return;
  for (const thread of readdirSync('/proc/self/task')) lower(Number(thread), constants.priority.PRIORITY_LOW);
}

function lower(thread: number, priority: number): void {
  try {
    if (process.platform === 'linux' && getPriority(thread) < priority) setPriority(thread, priority);
  } catch {
    // A sandbox may refuse it.
  }
}
