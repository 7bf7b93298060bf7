// How many processes serve with `workers: auto`, and how many threads of each do what can't be done on the event loop: signatures,
// password hashes, LMDB's commits. Node reads the number of threads once, when it needs the first, so it is set before anything
// else is loaded.
//
// Measured on two cores with machine tokens: four threads (Node's default) on two cores mostly wake each other, 9 % slower than two.
// One more than cores, because a commit of LMDB keeps one waiting for the disk. Passwords have threads of their own
// (users/hashing-threads.ts): one for each core of a process.
//
// Processes: a process leaves three quarters of a machine token and half of a sign-in to its threads, so one keeps two cores busy
// by itself: there, two processes gave 0.93 of one's tokens a second, at 1.1 of the CPU a token.
import { availableParallelism } from 'node:os';

const NAME = 'UV_THREADPOOL_SIZE';
const DEFAULT_OF_NODE = 4;

/** What the operator has set wins, here and in the processes that this one starts. */
let own: string | undefined;

const CORES_A_PROCESS = 2;

/** What `workers: auto` is. */
export function processesOf(cores: number): number {
  return Math.max(1, Math.ceil(cores / CORES_A_PROCESS));
}

/** Sets the size for this process. Called once, before anything else. */
export function sizeThreadPool(): void {
  own = process.env[NAME];
  process.env[NAME] = own ?? String(threadsFor(1));
}

/** The environment of one of `processes` that are to share the machine. */
export function threadPoolOf(processes: number): Readonly<Record<string, string>> {
  return { [NAME]: own ?? String(threadsFor(processes)) };
}

function threadsFor(processes: number): number {
  return Math.ceil(availableParallelism() / processes) + 1;
}

/** How many passwords this process compares at a time, each in a thread of its own: one for each of its cores. */
export function passwordThreads(): number {
  const threads = Number(process.env[NAME] ?? DEFAULT_OF_NODE);
  return Math.max(1, threads - 1);
}
