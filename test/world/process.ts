// The built service as a separate process, started as an administrator starts it: `node dist/main.js serve --config F`.
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { WORLD_ENV } from './world.ts';

export const MAIN = path.resolve('dist/main.js');
const START_TIMEOUT_MS = 90_000;

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Variables that share compiled code with later processes: compiling takes a quarter to two thirds of a short process. */
export const COMPILED = { NODE_COMPILE_CACHE: path.join(tmpdir(), 'postern-tests-compiled') };

/** The working directory of a program, its PATH and more variables. */
type Place = {
  readonly cwd?: string | undefined;
  readonly path?: string;
  readonly env?: Readonly<Record<string, string>>;
};

export type ServiceProcess = {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Sends the signal and waits until the process ends. */
  end(signal?: NodeJS.Signals): Promise<Ended>;
};

/** Resolves when the service reports that it is up; rejects with its output if it ends before. */
export async function startProcess(
  configFile: string,
  command: readonly string[] = [process.execPath, MAIN],
  cwd?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const place = { cwd, env: { ...COMPILED, ...env } };
  return startUntil('Postern is running.', [...command, 'serve', '--config', configFile], place);
}

/** Starts any program; resolves when it has printed `ready`. */
export async function startUntil(
  ready: string,
  command: readonly string[],
  place: Place,
): Promise<ServiceProcess> {
  const { child, ended, output } = launch(command, place);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not up in time: ${output.stderr}`)), START_TIMEOUT_MS);
    child.stdout?.on('data', () => {
      if (output.stdout.includes(ready)) resolve();
    });
    void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)));
    void ended.finally(() => clearTimeout(timer));
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    end(signal = 'SIGTERM') {
      signalGroup(child, signal);
      return ended;
    },
  };
}

/** Runs one verb of the command line to its end. */
export async function runCli(args: readonly string[], input = ''): Promise<Ended> {
  return runProgram([process.execPath, MAIN, ...args], { env: COMPILED }, input);
}

/** Runs any program to its end. */
export async function runProgram(command: readonly string[], place: Place, input = ''): Promise<Ended> {
  const { child, ended } = launch(command, place);
  child.stdin?.end(input);
  return ended;
}

const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach((child) => signalGroup(child, 'SIGKILL')));

/** Signals the group, as a terminal does: npx and its shell pass no signal on. */
function signalGroup({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
}

function launch([program = '', ...args]: readonly string[], { cwd, path: programs, env }: Place = {}) {
  const child = spawn(program, args, {
    cwd,
    env: { PATH: programs ?? process.env['PATH'], HOME: process.env['HOME'], ...WORLD_ENV, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // a separate process group, which can be signalled as one
  });
  running.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, ...output });
    });
  });
  return { child, ended, output };
}
