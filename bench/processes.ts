// Processes that are measured: started, found ready, and what they use by the operating system's count, with everything
// that they started in turn. Owns no load.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second of /proc/PID/stat. */
const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const STOP_WITHIN_MS = 15_000;
/** Places of proc(5)'s stat behind the name; from `CPU` on user and system, then the same of children that have ended. */
const [PARENT, CPU, NICE] = [1, 11, 16];

export type Served = {
  readonly pid: number;
  /** From starting the process to its line that says it is ready. */
  readonly readyMs: number;
  stop(): Promise<void>;
};

export type ServeOptions = {
  readonly env?: NodeJS.ProcessEnv;
  /** Where standard error goes; the terminal when not given. */
  readonly logFile?: string;
};

const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Resolves when the process prints `ready` on standard output. */
export async function serve(
  args: readonly string[],
  ready: string,
  { env = {}, logFile }: ServeOptions = {},
): Promise<Served> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', logFile === undefined ? 'inherit' : openSync(logFile, 'a')],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes(ready)) resolve();
    });
    child.once('exit', (code) =>
      reject(new Error(`${args.join(' ')} ended with ${code}\n${endOf(logFile)}`)),
    );
  });
  return { pid: child.pid ?? 0, readyMs: performance.now() - startedAt, stop: () => end(child) };
}

/** The folder of the log is deleted with the section. */
function endOf(logFile: string | undefined): string {
  return logFile === undefined ? '' : readFileSync(logFile, 'utf8').slice(-1000);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await ended;
  clearTimeout(timer);
}

/** CPU seconds of a process and all below it so far, those that ended included. */
export function cpuSeconds(pid: number): number {
  return treeOf(pid).reduce((sum, { fields }) => sum + secondsOf(fields.slice(CPU, CPU + 4)), 0);
}

/** The same, of those threads alone that let others go first: in the service these compare passwords, and do nothing else. */
export function backgroundCpuSeconds(pid: number): number {
  const threads = treeOf(pid).flatMap((one) => statsIn(`/proc/${one.pid}/task`));
  const background = threads.filter(({ fields }) => (fields[NICE] ?? 0) > 0);
  // Children are the process's, not a thread's.
  return background.reduce((sum, { fields }) => sum + secondsOf(fields.slice(CPU, CPU + 2)), 0);
}

/** Megabytes (2^20) of resident memory, of each process of the tree; the first is `pid` itself. */
export function residentMegabytes(pid: number): readonly number[] {
  return memoryOf(pid, 'VmRSS');
}

/** The same, of anonymous memory alone: without files that are mapped. */
export function privateMegabytes(pid: number): readonly number[] {
  return memoryOf(pid, 'RssAnon');
}

function memoryOf(pid: number, line: string): readonly number[] {
  return treeOf(pid).map((one) => {
    const status = readFileSync(`/proc/${one.pid}/status`, 'utf8');
    return Number(new RegExp(`${line}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  });
}

type Stat = { readonly pid: number; readonly parent: number; readonly fields: readonly number[] };

function treeOf(root: number): readonly Stat[] {
  const all = statsIn('/proc');
  const tree = all.filter(({ pid }) => pid === root);
  // A list that grows while it is walked: children come after their parents.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Of all processes in /proc, or of all threads in /proc/PID/task. */
function statsIn(folder: string): Stat[] {
  const names = readdirSync(folder).filter((name) => /^\d+$/.test(name));
  return names.flatMap((name) => statOf(folder, name));
}

function statOf(folder: string, name: string): Stat[] {
  try {
    const stat = readFileSync(`${folder}/${name}/stat`, 'utf8');
    // The name in parentheses may hold anything; the numbers come after it, and begin with the state, a letter.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return [{ pid: Number(name), parent: fields[PARENT] ?? 0, fields }];
  } catch {
    return []; // It ended while the folder was being read.
  }
}

const secondsOf = (ticks: readonly number[]) => ticks.reduce((sum, one) => sum + one, 0) / TICKS;
