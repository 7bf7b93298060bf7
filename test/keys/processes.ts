// Several node processes on one Redis, behind one issuer. Starts and ends them, and sets their common clock.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GENEROUS, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { freePort, startRedis } from '../world/servers.ts';
import { COMPILED } from '../world/process.ts';

const SERVE = path.join(import.meta.dirname, 'fixtures', 'serve.ts');

export type NodeProcess = World & {
  /** SIGSTOP, SIGCONT. */
  pause(): void;
  resume(): void;
};

export type Processes = {
  readonly nodes: readonly NodeProcess[];
  /** Sets the clocks of all nodes ahead of the real time by this many seconds. */
  setClock(seconds: number): Promise<void>;
  errors(): string;
  stop(): Promise<void>;
};

export async function startProcesses(
  count: number,
  { pollMs, config = {} }: { readonly pollMs: number; readonly config?: Readonly<Record<string, unknown>> },
): Promise<Processes> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-nodes-'));
  const redis = await startRedis();
  const clockFile = path.join(folder, 'clock');
  await writeFile(clockFile, '0');
  const ports = await Promise.all(Array.from({ length: 2 * count }, freePort));
  const issuer = `http://127.0.0.1:${ports[0]}`;
  const children: ChildProcess[] = [];
  let errors = '';

  async function startOne(index: number): Promise<NodeProcess> {
    const own = path.join(folder, String(index));
    await mkdir(own);
    const [port = 0, management = 0] = ports.slice(2 * index);
    const options = { store: redis.url, issuer, config: { ...GENEROUS, ...config } };
    const written = await writeWorldConfig(own, options, [port, management]);
    const child = spawn(
      process.execPath,
      ['--no-warnings', SERVE, written.configFile, clockFile, String(pollMs)],
      { env: { PATH: process.env['PATH'], ...WORLD_ENV, ...COMPILED }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    children.push(child);
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve());
      child.once('exit', (code) => reject(new Error(`the node ended with ${code}: ${errors}`)));
    });
    return {
      ...written,
      pause: () => void child.kill('SIGSTOP'),
      resume: () => void child.kill('SIGCONT'),
      stop: () => end(child),
    };
  }

  /** Replaces the file in one step: a node that reads a half-written file would see its clock jump back. */
  async function setClock(seconds: number): Promise<void> {
    await writeFile(`${clockFile}.next`, String(seconds));
    await rename(`${clockFile}.next`, clockFile);
  }

  async function stop(): Promise<void> {
    await Promise.all(children.map(end));
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    const nodes = await Promise.all(Array.from({ length: count }, (_, index) => startOne(index)));
    return {
      nodes,
      setClock,
      errors: () => errors,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(deadline);
}
