// The real servers that tests run against: finds them, installs them if possible, starts Redis. It has no fakes:
// a test without its real server fails and names the missing package.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, Socket } from 'node:net';
import { setPriority, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Debian packages, each with the names of its program on other systems. */
const PROGRAMS = {
  'redis-server': ['redis-server', 'valkey-server'],
  'valkey-server': ['valkey-server'],
  chromium: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  'nginx-light': ['nginx'],
  openssl: ['openssl'],
  iproute2: ['ip'],
  oathtool: ['oathtool'],
  zsh: ['zsh'],
} as const;

export type ServerName = keyof typeof PROGRAMS;

/** The path of a program, or undefined if this machine doesn't have it. */
export function findServer(name: ServerName): string | undefined {
  const own = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  // Debian's folders for servers, which a user's PATH may lack.
  const folders = [...own, '/usr/sbin'];
  return PROGRAMS[name]
    .flatMap((program) => folders.map((folder) => join(folder, program)))
    .find((path) => isExecutable(path));
}

/** The path of a program. Throws an error that names the package if it is missing. */
export function requireServer(name: ServerName): string {
  const path = findServer(name);
  if (path === undefined) throw new Error(`these tests need ${name}: install the package and run them again`);
  return path;
}

/** Makes sure that all programs exist: installs them as root on Debian, otherwise throws an error that names the missing ones. */
export async function ensureServers(
  names: readonly ServerName[] = ['redis-server', 'chromium', 'nginx-light', 'openssl', 'oathtool', 'zsh'],
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
 * Ports below the ephemeral ones (from 32,768), so that no connection takes one while its server restarts. Each of the six test files
 * that run at the same time has its own slice, so that none takes a port that another one has reserved and not used yet.
 */
const [FIRST_PORT, SLICE, SLICES] = [11_000, 3500, 6];

/** Reserved ports: nothing listens on them yet, so they look free. */
const named = new Set<number>();

/** A port that was free just now; never the same one twice. */
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
  /** The port of a killed server that this one replaces. */
  readonly port?: number;
  readonly password?: string;
  /** Settings as on the command line: `['--maxmemory-policy', 'allkeys-lru']`. */
  readonly settings?: readonly string[];
};

export type RedisServer = {
  readonly url: string;
  readonly port: number;
  /** Shuts it down cleanly and deletes its folder. Does nothing after `kill`. */
  stop(): Promise<void>;
  /** Freezes it: connections stay open, but get no answer. */
  pause(): void;
  resume(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Restarts the killed server, with additional settings if given. */
  restart(more?: readonly string[]): Promise<void>;
};

/** Kills `child` when this process ends for any reason, because its end of the pipe closes. A killed test run gets no event. */
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

/** Raises its priority: an answer counts as late after 300 ms, and on a busy machine the process would wait that long. Needs root. */
function hurry({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, -15);
  } catch {
    // Without root it runs at the usual priority.
  }
}

/** A redis-server process that can be stopped and restarted with the same arguments. */
export function launchServer(args: readonly string[], port: number) {
  // POSTERN_TEST_REDIS=/path/to/valkey-server runs all tests on that program.
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
      // Redis ignores SIGTERM while it writes its first append-only file.
      const timer = setTimeout(() => ending?.kill('SIGKILL'), 2000);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Any answer counts: `+PONG`, or an error that asks for a password. */
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
