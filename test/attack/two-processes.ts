// Two service processes on one store, as behind a load balancer: what only one process could get right shows here.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startRedis } from '../servers.ts';
import { WORLD_ENV, writeWorldConfig, type StoreName, type World } from '../world/world.ts';
import { GENEROUS } from './attacker.ts';

const SERVE = path.join(path.dirname(fileURLToPath(import.meta.url)), 'fixtures', 'serve.ts');
const START_TIMEOUT_MS = 20_000;

/** None outlives the tests, however they end. */
const running = new Set<ChildProcess>();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

export type TwoProcesses = {
  /** The same issuer behind each; only `base` differs. */
  readonly nodes: readonly [World, World];
  /** The store as the configuration files name it: `lmdb:/folder` or the URL of Redis. */
  readonly store: string;
  /** What the processes wrote to standard error. */
  readonly errors: () => string;
  stop(): Promise<void>;
};

export async function startTwoProcesses(
  storeName: StoreName,
  config: Readonly<Record<string, unknown>> = {},
): Promise<TwoProcesses> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-two-'));
  const redis = storeName === 'redis' ? await startRedis() : undefined;
  const store = redis?.url ?? `lmdb:${path.join(folder, 'data')}`;
  const firstPort = await freePort();
  const issuer = `http://127.0.0.1:${firstPort}`;
  const children: ChildProcess[] = [];
  let errors = '';

  async function startNode(name: string, port: number): Promise<World> {
    const own = path.join(folder, name);
    await mkdir(own);
    const options = { store, issuer, config: { ...GENEROUS, ...config } };
    const written = await writeWorldConfig(own, options, [port, 0]);
    const child = spawn(process.execPath, ['--no-warnings', SERVE, written.configFile], {
      env: { PATH: process.env['PATH'], ...WORLD_ENV },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    await isReady(child, () => errors);
    return {
      ...written,
      folder: own,
      management: '', // on a port of its own choice, which no test needs
      stop: () => end(child),
    };
  }

  async function stop(): Promise<void> {
    await Promise.all(children.map(end));
    await redis?.stop();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    const first = await startNode('a', firstPort);
    const second = await startNode('b', await freePort());
    return { nodes: [first, second], store, errors: () => errors, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function isReady(child: ChildProcess, errors: () => string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no service: ${errors()}`)), START_TIMEOUT_MS);
    child.stdout?.once('data', () => {
      clearTimeout(timer);
      resolve();
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`the service ended with ${code}: ${errors()}`));
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(deadline);
}
