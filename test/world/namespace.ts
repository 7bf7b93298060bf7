// A network namespace for a test: only loopback, with the addresses that the test sets, a name server and a certificate authority
// of the test. The test calls the script inside (`serveCalls`) by messages between processes.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureServers, requireServer } from './servers.ts';

/** Arguments of unshare: with a user namespace, which a container may forbid; without one, which needs root. */
const WAYS = [['-Urnm'], ['-nm']] as const;

/** A mount that tests the namespace: some systems create one, but allow nothing in it. */
const PROBE = ['mount', '--bind', '/etc/hosts', '/etc/hosts'];

function findWay(): readonly string[] | undefined {
  return WAYS.find((way) => spawnSync('unshare', [...way, ...PROBE]).status === 0);
}

/** The reason why this machine can't run such a test, for the title of the test. */
export function namespaceFault(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux';
  return findWay() === undefined
    ? 'this machine allows no network namespace: run as root, or allow unprivileged user namespaces'
    : undefined;
}

// oxlint-disable-next-line typescript/no-explicit-any -- any function that a script has
type Calls = Readonly<Record<string, (...args: any[]) => unknown>>;
type Called<Api extends Calls> = {
  readonly [Name in keyof Api]: (...args: Parameters<Api[Name]>) => Promise<Awaited<ReturnType<Api[Name]>>>;
};
type Call = { readonly id: number; readonly name: string; readonly args: readonly unknown[] };
type Result = { readonly id: number; readonly value?: unknown; readonly error?: string };

export type Namespace<Api extends Calls> = { readonly inside: Called<Api>; leave(): Promise<void> };

export type NamespaceOptions = {
  /** The file that calls `serveCalls`. */
  readonly script: string;
  /** Addresses of loopback besides 127.0.0.1 and ::1. */
  readonly addresses: readonly string[];
  /** Unreachable addresses, each with the type of its route: `unreachable 192.0.2.1`. */
  readonly routes?: readonly string[];
  /** Names of the certificate in `POSTERN_TEST_TLS`, a folder with key.pem and cert.pem. */
  readonly names: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

export async function enterNamespace<Api extends Calls>(options: NamespaceOptions): Promise<Namespace<Api>> {
  await ensureServers(['iproute2', 'openssl']);
  const folder = mkdtempSync(path.join(tmpdir(), 'postern-namespace-'));
  makeCertificates(folder, options.names);
  const files = {
    '/etc/resolv.conf': 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n',
    '/etc/hosts': '127.0.0.1 localhost\n',
    '/etc/nsswitch.conf': 'hosts: files dns\n',
  };
  const steps = Object.entries(files).map(([name, text]) => {
    const own = path.join(folder, path.basename(name));
    writeFileSync(own, text);
    return `mount --bind ${own} ${name}`;
  });
  // A kernel without IPv6 has no such addresses and can't listen on them.
  const addresses = options.addresses.map((one) =>
    one.includes(':')
      ? `ip address add ${one}/128 dev lo 2>/dev/null || true`
      : `ip address add ${one.includes('/') ? one : `${one}/32`} dev lo`,
  );
  const routes = (options.routes ?? []).map((one) =>
    one.includes(':') ? `ip -6 route add ${one} 2>/dev/null || true` : `ip route add ${one}`,
  );
  const shell = ['set -e', 'ip link set lo up', ...steps, ...addresses, ...routes, 'exec "$@"'].join('\n');
  const child = spawn(
    'unshare',
    [
      ...(findWay() ?? WAYS[0]),
      'sh',
      '-c',
      shell,
      'sh',
      process.execPath,
      '--expose-gc',
      '--no-warnings',
      options.script,
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: {
        ...process.env,
        PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`,
        NODE_EXTRA_CA_CERTS: path.join(folder, 'ca.pem'),
        POSTERN_TEST_TLS: folder,
        ...options.env,
      },
    },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    inside: callsOf<Api>(child, ended),
    async leave() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function callsOf<Api extends Calls>(child: ChildProcess, ended: Promise<void>): Called<Api> {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  child.on('message', ({ id, value, error }: Result) => {
    if (error === undefined) waiting.get(id)?.resolve(value);
    else waiting.get(id)?.reject(new Error(error));
    waiting.delete(id);
  });
  void ended.then(() => waiting.forEach((one) => one.reject(new Error('what ran in the namespace ended'))));
  const call =
    (name: string) =>
    (...args: unknown[]) =>
      new Promise<unknown>((resolve, reject) => {
        last += 1;
        waiting.set(last, { resolve, reject });
        child.send({ id: last, name, args } satisfies Call);
      });
  return new Proxy({}, { get: (_, name) => call(String(name)) }) as Called<Api>;
}

/** Used by the script inside: answers the calls of the test until the test disconnects. */
export function serveCalls(api: Calls): void {
  process.on('message', (message: unknown) => {
    const { id, name, args } = message as Call;
    Promise.resolve()
      .then(() => api[name]?.(...args))
      .then(
        (value) => process.send?.({ id, value } satisfies Result),
        (error: unknown) =>
          process.send?.({
            id,
            error: error instanceof Error ? (error.stack ?? '') : String(error),
          } satisfies Result),
      );
  });
  // The test has ended, for whatever reason.
  process.once('disconnect', () => process.exit());
}

function makeCertificates(folder: string, names: readonly string[]): void {
  const openssl = (...args: string[]) =>
    execFileSync(requireServer('openssl'), args, { cwd: folder, stdio: 'ignore' });
  const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-subj', '/CN=Test CA', '-keyout', 'ca-key.pem', '-out', 'ca.pem');
  const san = names.map((name) => `DNS:${name}`).join(',');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-addext', `subjectAltName=${san}`];
  openssl('req', '-x509', ...key, '-subj', '/CN=hosts', ...signed, '-keyout', 'key.pem', '-out', 'cert.pem');
}
