// The measured processes, and their usage according to the operating system, with all of their descendants.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { SECRET } from './names.ts';

const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const STOP_WITHIN_MS = 15_000;
/** Fields of proc(5)'s stat after the name; from CPU on: user and system, then the same of children that have ended. */
const [PARENT, CPU, NICE] = [1, 11, 16];

export type Served = { readonly pid: number; stop(): Promise<void> };

const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Resolves when the process prints `ready`. Its standard error goes to `logFile`, or to the terminal. */
export async function serve(args: readonly string[], ready: string, logFile?: string): Promise<Served> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, BENCH_SECRET: SECRET },
    stdio: ['ignore', 'pipe', logFile === undefined ? 'inherit' : openSync(logFile, 'a')],
  });
  running.add(child);
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  void ended.then(() => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => chunk.toString().includes(ready) && resolve());
    void ended.then((code) => {
      const log = logFile === undefined ? '' : readFileSync(logFile, 'utf8').slice(-1000);
      reject(new Error(`${args.join(' ')} ended with ${code}\n${log}`));
    });
  });
  return {
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** CPU seconds so far of a process and its descendants, including those that have ended. */
export function cpuSeconds(pid: number): number {
  return sum(treeOf(pid).map(({ fields }) => sum(fields.slice(CPU, CPU + 4)))) / TICKS;
}

/** The same for threads of low priority only: in the service these compare passwords, and do nothing else. */
export function hashSeconds(pid: number): number {
  const threads = treeOf(pid).flatMap((one) => statsIn(`/proc/${one.pid}/task`));
  const nice = threads.filter(({ fields }) => (fields[NICE] ?? 0) > 0);
  return sum(nice.map(({ fields }) => sum(fields.slice(CPU, CPU + 2)))) / TICKS;
}

/** CPU seconds that this machine has used so far, and those that the host took away. */
export function machineSeconds(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0]?.split(/\s+/).map(Number) ?? [];
  return sum([user, nice, system, irq, softirq, steal]) / TICKS;
}

/** Megabytes (2^20) of resident memory of a process and its descendants. */
export function residentMegabytes(pid: number): number {
  const ofOne = (one: number) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1]);
  return sum(treeOf(pid).map((one) => ofOne(one.pid))) / 1024;
}

type Stat = { readonly pid: number; readonly parent: number; readonly fields: readonly number[] };

function treeOf(root: number): readonly Stat[] {
  const all = statsIn('/proc');
  const tree = all.filter(({ pid }) => pid === root);
  // The list grows while the loop runs: children come after their parents.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Statistics of all processes in /proc, or of all threads in /proc/PID/task. */
function statsIn(folder: string): Stat[] {
  return readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`${folder}/${name}/stat`, 'utf8');
        // The name in parentheses may contain anything; the fields after it begin with the state, a letter.
        const rest = stat.slice(stat.lastIndexOf(')') + 2);
        const fields = rest.split(' ').map(Number);
        return [{ pid: Number(name), parent: fields[PARENT] ?? 0, fields }];
      } catch {
        return []; // The process ended while the folder was read.
      }
    });
}

const sum = (figures: readonly number[]) => figures.reduce((total, one) => total + one, 0);
