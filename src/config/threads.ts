// How many threads of a process do what can't be done on the event loop: signatures, LMDB's commits. Node reads the number once, when
// it needs the first, so it is set before anything else is loaded.
//
// Measured on two cores with machine tokens: four threads (Node's default) on two cores mostly wake each other, 9 % slower than two.
// One more than cores, because a commit of LMDB keeps one waiting for the disk. Passwords have threads of their own
// (users/hashing-threads.ts): one for each core of a process.
import { readdirSync } from 'node:fs';
import { availableParallelism, constants, getPriority, setPriority } from 'node:os';

const NAME = 'UV_THREADPOOL_SIZE';
const DEFAULT_OF_NODE = 4;

/** What the operator has set wins, here and in the processes that this one starts. */
let own: string | undefined;

/** Sets the size for this process. Called once, before anything else. */
export function sizeThreadPool(): void {
  own = process.env[NAME];
  process.env[NAME] = own ?? String(threadsFor(1));
}

/** The environment of one of `processes` that are to share the machine. */
export function threadPoolOf(processes: number): Readonly<Record<string, string>> {
  return { [NAME]: own ?? String(threadsFor(processes)) };
}

const threadsFor = (processes: number): number => Math.ceil(availableParallelism() / processes) + 1;

/** How many passwords this process compares at a time, each in a thread of its own: one for each of its cores. */
export function passwordThreads(): number {
  const threads = Number(process.env[NAME] ?? DEFAULT_OF_NODE);
  return Math.max(1, threads - 1);
}

/**
 * Lets everything else come before this thread: on Linux a priority is a thread's own. With it a crowd that signs in keeps no token
 * waiting: p99 7 ms instead of 12 to 20.
 */
export function standBack(): void {
  lower(0, constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Lets everything else, passwords included, come before this process: all of its threads, those of V8 and those to come. */
export function standBackWhole(): void {
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
