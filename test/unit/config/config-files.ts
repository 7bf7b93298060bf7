// Writes configurations into a new folder and loads them. Manages the folder; the tests have the expectations.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { ConfigError, type Client, type Config } from '../../../src/config/config.ts';
import { formatProblem } from '../../../src/config/problems.ts';
import { loadConfig, type LoadOptions } from '../../../src/config/load.ts';

const root = mkdtempSync(join(tmpdir(), 'postern-config-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;

/** Noon of 1 January 2026. */
export const NOW = Date.UTC(2026, 0, 1, 12) / 1000;

/** As random as a generated secret. */
export const SECRET = 'q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fg-aUeRoQiZwKt';
export const OTHER_SECRET = 'B9n_4tXw7Qk2Rz6Lc8Hv3Mj1Yp5Ds0Gf-oEiUaTzRyWq';
export const ENCRYPTION_KEY = 'u5Jw0cYb8mQkX2tRz7LhN4vPd1GsE9aF6iKo3yTqBxM';

export const ENV: NodeJS.ProcessEnv = {
  WEB_SECRET: SECRET,
  OTHER_SECRET,
  ENCRYPTION_KEY,
  COOKIE_KEY: 'Kp4Tz8Wm1Xc6Rv2Nb9Ls5Hd7Gj3Fq0Yy-iUoEaQrMtZx',
};

/** Settings that every issuer needs unless it is on this machine. */
export const PUBLIC = `issuer: https://id.example
encryption_keys: [env:ENCRYPTION_KEY]
cookie_keys: [env:COOKIE_KEY]
`;
export const LOCAL = 'issuer: http://localhost:3000\n';

/** Writes `files` into a new folder; `main` becomes postern.yaml. Returns its path. */
export function write(main: string | Uint8Array, files: Record<string, string> = {}): string {
  count += 1;
  const folder = join(root, String(count), 'config');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'postern.yaml');
  writeFileSync(file, main);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    // The mode that files with secrets need; some of these have secrets.
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  }
  return file;
}

/** Loads `main` with the other `files` beside it. */
export async function load(
  main: string,
  files: Record<string, string> = {},
  options: LoadOptions = {},
): Promise<Config> {
  return loadConfig(write(main, files), { env: ENV, ...options });
}

/** The problems of `main`, as `postern.yaml:1:1 path: message`; empty when it loads. */
export async function problemsOf(
  main: string | Uint8Array,
  files: Record<string, string> = {},
  options: LoadOptions = {},
): Promise<string[]> {
  const file = write(main, files);
  try {
    await loadConfig(file, { env: ENV, ...options });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => formatProblem(problem).replaceAll(`${dirname(file)}/`, ''));
  }
}

const DEFAULTS: Readonly<Record<string, string>> = {
  client_id: 'web',
  client_secret: 'env:WEB_SECRET',
  redirect_uris: '[https://app.example/callback]',
  scope: 'openid',
};

/** YAML of a client; `undefined` leaves a key out. */
export function client(keys: Record<string, string | undefined> = {}): string {
  const lines = Object.entries({ ...DEFAULTS, ...keys })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `    ${key}: ${value}\n`);
  return `  -\n${lines.join('')}`;
}

/** YAML of a machine client. */
export function machine(keys: Record<string, string | undefined> = {}): string {
  return client({
    client_id: 'svc',
    redirect_uris: undefined,
    grant_types: '[client_credentials]',
    scope: 'reports.read',
    ...keys,
  });
}

export const RESOURCES = `resources:
  - resource: https://api.example/reports
    scopes: [reports.read, reports.write]
`;

/** The problems of one client, without their place. */
export async function clientProblems(yaml: string, head = PUBLIC): Promise<string[]> {
  const problems = await problemsOf(`${head}${RESOURCES}clients:\n${yaml}`);
  return problems.map((problem) => problem.replace(/^\S+ /, ''));
}

/** The one client of this configuration. */
export async function loadClient(yaml: string, head = PUBLIC): Promise<Client> {
  const { clients } = await load(`${head}${RESOURCES}clients:\n${yaml}`);
  const [only] = clients;
  if (only === undefined) throw new Error('the configuration has no client');
  return only;
}
