// The real servers that tests run against: finds them, installs them where that is possible, starts Redis. Owns no
// fake: a test that can't have the real server fails and says which package is missing.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, Socket } from 'node:net';
import { setPriority, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Debian package to the names its program has elsewhere. */
const PROGRAMS = {
  'redis-server': ['redis-server', 'valkey-server'],
  'valkey-server': ['valkey-server'],
  chromium: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  'nginx-light': ['nginx'],
  openssl: ['openssl'],
  iproute2: ['ip'],
  oathtool: ['oathtool'],
} as const;

export type ServerName = keyof typeof PROGRAMS;

/** The path of a program, or undefined when this machine doesn't have it. */
export function findServer(name: ServerName): string | undefined {
  const own = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  // Where Debian keeps servers, and where a person's path doesn't look.
  const folders = [...own, '/usr/sbin'];
  return PROGRAMS[name]
    .flatMap((program) => folders.map((folder) => join(folder, program)))
    .find((path) => isExecutable(path));
}

/** The path of a program. Throws an error that names the package when it is missing. */
export function requireServer(name: ServerName): string {
  const path = findServer(name);
  if (path === undefined) throw new Error(`these tests need ${name}: install the package and run them again`);
  return path;
}

/** Makes sure that all programs exist: as root on Debian by installing them, elsewhere by saying what is missing. */
export async function ensureServers(
  names: readonly ServerName[] = ['redis-server', 'chromium', 'nginx-light', 'openssl', 'oathtool'],
): Promise<void> {
  const missing = names.filter((name) => findServer(name) === undefined);
  if (missing.length === 0) return;
  const list = missing.join(' and ');
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`the tests need ${list}: install the package and run them again`);
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await run('apt-get', ['update', '-q'], { env, maxBuffer: 1 << 26 });
    await run('apt-get', ['install', '-qy', '--no-install-recommends', ...missing], {
      env,
      maxBuffer: 1 << 26,
    });
  } catch (cause) {
    throw new Error(`the tests need ${list}, and apt-get could not install it`, { cause });
  }
  for (const name of missing) requireServer(name);
}

/**
 * Below those that the system gives to those who connect (32,768), so that nobody takes one while its server restarts. A slice for
 * each of the six files that run at the same time, so that none takes what another one has named and not used yet.
 */
const [FIRST_PORT, SLICE, SLICES] = [11_000, 3500, 6];

/** Nothing listens on them yet, so they look free. */
const named = new Set<number>();

/** A port that was free a moment ago, and another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await anyPort();
    if (named.has(port)) continue;
    named.add(port);
    return port;
  }
}

async function anyPort(): Promise<number> {
  const slice = (Number(process.env['VITEST_POOL_ID'] ?? 1) - 1) % SLICES;
  for (;;) {
    const port = FIRST_PORT + slice * SLICE + Math.floor(Math.random() * SLICE);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

export type RedisOptions = {
  /** To come back on the port of a server that was killed. */
  readonly port?: number;
  readonly password?: string;
  /** More settings, as on the command line: `['--maxmemory-policy', 'allkeys-lru']`. */
  readonly settings?: readonly string[];
};

export type RedisServer = {
  readonly url: string;
  readonly port: number;
  /** Ends it in good order and deletes its folder. Harmless after `kill`. */
  stop(): Promise<void>;
  /** Freezes it: connections stay open, nothing is answered. */
  pause(): void;
  resume(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** The same server again, after `kill`; with more settings this time. */
  restart(more?: readonly string[]): Promise<void>;
};

/** Kills `child` when this process ends in whatever way: its end of the pipe closes. A test run that is killed hears no event. */
function guard(child: ChildProcess): void {
  const watcher = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$0"', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.once('exit', () => watcher.kill('SIGKILL'));
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();
}

/** A Redis of its own on a free port, without persistence unless `settings` say otherwise. */
export async function startRedis({ port, password, settings = [] }: RedisOptions = {}): Promise<RedisServer> {
  const chosen = port ?? (await freePort());
  const folder = await mkdtemp(join(tmpdir(), 'postern-redis-'));
  const args = ['--port', String(chosen), '--bind', '127.0.0.1', '--dir', folder, '--daemonize', 'no'];
  const quiet = [
    '--save',
    '',
    '--appendonly',
    'no',
    ...(password === undefined ? [] : ['--requirepass', password]),
  ];
  const launched = launchServer([...args, ...quiet, ...settings], chosen);
  await launched.start();
  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${chosen}`,
    port: chosen,
    async stop() {
      await launched.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
    pause: () => launched.signal('SIGSTOP'),
    resume: () => launched.signal('SIGCONT'),
    kill: () => launched.end('SIGKILL'),
    restart: (more) => launched.start(more),
  };
}

/** Its answers count as late after 300 ms, and on a busy machine it would wait for its turn that long. Only root may do this. */
function hurry({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, -15);
  } catch {
    // Then it has as much of the machine as everybody.
  }
}

/** A process of redis-server that can be ended and started again with the same arguments. */
export function launchServer(args: readonly string[], port: number) {
  // POSTERN_TEST_REDIS=/path/to/valkey-server runs everything on that one.
  const program = process.env['POSTERN_TEST_REDIS'] ?? requireServer('redis-server');
  let child: ChildProcess | undefined;
  let ended = Promise.resolve();

  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;

  return {
    async start(more: readonly string[] = []): Promise<void> {
      child = spawn(program, [...args, ...more], { stdio: 'ignore' });
      guard(child);
      hurry(child);
      ended = new Promise((resolve) => child?.once('exit', () => resolve()));
      const early = ended.then(() =>
        Promise.reject(new Error(`redis-server ended at once: ${args.join(' ')}`)),
      );
      await Promise.race([answers(port), early]);
    },
    signal(signal: NodeJS.Signals): void {
      if (isRunning()) child?.kill(signal);
    },
    async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
      if (!isRunning()) return;
      const ending = child;
      ending?.kill('SIGCONT');
      ending?.kill(signal);
      // Redis doesn't listen to SIGTERM while it writes its first append-only file.
      const timer = setTimeout(() => ending?.kill('SIGKILL'), 2000);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Any answer will do: `+PONG`, or an error that asks for a password. */
async function answers(port: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
      socket.once('data', () => resolve(true)).once('error', () => resolve(false));
      socket.once('data', () => socket.destroy());
    });
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`redis-server did not answer on port ${port} within a minute`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
