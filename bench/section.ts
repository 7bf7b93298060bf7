// What a part of the benchmark is given, and what it hands back. Owns starting and stopping what is measured.
import path from 'node:path';
import { freePort, startRedis } from '../test/world/servers.ts';
import { load, type Request, type Slice } from './load.ts';
import { BENCH_BASIC } from './names.ts';
import type { Plot } from './plot.ts';
import { type Postern, type PosternOptions, startPostern } from './postern.ts';
import { serve, type Served } from './processes.ts';
import { type Round, sliceOf, type Spread, over, type Subject } from './rounds.ts';
import { runLoop } from './subject-loop.ts';

export type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly isQuick: boolean;
  /** A million live grants. */
  readonly isFull: boolean;
  readonly soakMinutes: number;
  /** Code flows that a process has seen before its are measured. */
  readonly warmFlows: number;
};

export type Table = {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export type Target = {
  readonly what: string;
  readonly goal: string;
  readonly found: string;
  readonly isMet: boolean;
};

export type Findings = {
  readonly tables: readonly Table[];
  readonly targets: readonly Target[];
  /** By the name of their file. */
  readonly pictures?: Readonly<Record<string, Plot>>;
  readonly notes?: readonly string[];
  /** Every figure. */
  readonly raw: unknown;
};

export type Section = (stage: Stage) => Promise<Findings>;

export const BARE = 'bare engine';
export const OPAQUE = 'bare engine, opaque';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const TOKEN_FORM = 'grant_type=client_credentials&scope=reports.read';

/** One for each section: what it started ends with it. */
export class Stage {
  readonly options: Options;
  readonly folder: string;
  readonly #endings: (() => Promise<unknown>)[] = [];

  constructor(options: Options, folder: string) {
    this.options = options;
    this.folder = folder;
  }

  /** Ended in the opposite order. */
  later(ending: () => Promise<unknown>): void {
    this.#endings.unshift(ending);
  }

  async redis(): Promise<string> {
    const redis = await startRedis();
    this.later(() => redis.stop());
    return redis.url;
  }

  lmdb(name: string): string {
    return `lmdb:${path.join(this.folder, name, 'data')}`;
  }

  async postern(options: Omit<PosternOptions, 'folder'>): Promise<Postern> {
    const service = await startPostern({ ...options, folder: this.folder });
    this.later(() => service.stop());
    return service;
  }

  /** A program of bench/subjects; `url` is where it listens. */
  async serveSubject(
    file: string,
    args: (port: string) => readonly string[],
  ): Promise<Served & { url: string }> {
    const port = String(await freePort());
    const served = await serve(['--no-warnings', `bench/subjects/${file}`, ...args(port)], 'ready');
    this.later(() => served.stop());
    return { ...served, url: `http://127.0.0.1:${port}` };
  }

  /** A service like ours for the load generators. */
  async bareEngine(tokens: 'jwt' | 'opaque' = 'jwt'): Promise<Postern & { url: string }> {
    const served = await this.serveSubject('bare-engine.ts', (port) => [port, tokens]);
    const name = tokens === 'jwt' ? BARE : OPAQUE;
    return { ...served, name, issuer: served.url, management: '', configFile: '', clientsFile: '' };
  }

  /** Ends everything that was started so far. */
  async end(): Promise<void> {
    for (const ending of this.#endings.splice(0)) await ending();
  }
}

export function tokenRequest(url: string, more = ''): Request {
  return { url, method: 'POST', headers: { ...FORM, ...BENCH_BASIC }, body: `${TOKEN_FORM}${more}` };
}

export function introspectionRequest(url: string, token: string): Request {
  return { url, method: 'POST', headers: { ...FORM, ...BENCH_BASIC }, body: `token=${token}` };
}

export async function machineToken(url: string, more = ''): Promise<string> {
  const { method = 'POST', headers = {}, body = '' } = tokenRequest(url, more);
  const answer = await fetch(url, { method, headers, body });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { access_token: string }).access_token;
}

export function loaded(name: string, pid: number, request: Request): Subject {
  return { name, slice: (seconds) => load(request, pid, seconds) };
}

export const S1 = 'S1: RSA-2048 signatures, one process';
export const S2 = 'S2: RSA-2048 signatures, two processes';
export const signing = (processes: 1 | 2): Subject => ({
  name: processes === 1 ? S1 : S2,
  warm: () => Promise.resolve(),
  slice: (seconds) => runLoop(['bench/subjects/rsa-loop.ts', String(seconds)], processes),
});

/** A row for each subject, with columns of the section's own. */
export function tableOf(
  title: string,
  rounds: readonly Round[],
  more: Readonly<Record<string, (name: string) => Spread>> = {},
): Table {
  const names = [...(rounds[0]?.keys() ?? [])];
  const figure = (name: string, of: (slice: Slice) => number | undefined) =>
    format(over(rounds, (round) => of(sliceOf(round, name)) ?? Number.NaN));
  return {
    title,
    columns: ['subject', 'per second', 'CPU µs each', 'p50 ms', 'p99 ms', ...Object.keys(more)],
    rows: names.map((name) => [
      name,
      figure(name, ({ perSecond }) => perSecond),
      figure(name, ({ cpuMicroseconds }) => cpuMicroseconds),
      figure(name, ({ p50Ms }) => p50Ms),
      figure(name, ({ p99Ms }) => p99Ms),
      ...Object.values(more).map((column) => format(column(name))),
    ]),
  };
}

/** Median, and from least to most; the median alone where it was measured once. */
export function format({ median, least, most }: Spread): string {
  if (Number.isNaN(median)) return '–';
  if (least === most) return short(median);
  return `${short(median)} (${short(least)}–${short(most)})`;
}

export function short(figure: number): string {
  if (Number.isInteger(figure)) return String(figure);
  return Math.abs(figure) >= 100 ? figure.toFixed(0) : figure.toFixed(2);
}

/** `stretch` is only told, beside the goal. */
export function atLeast(what: string, found: Spread, goal: number, stretch?: number): Target {
  const wish = stretch === undefined ? '' : ` (stretch ${stretch})`;
  return { what, goal: `≥ ${goal}${wish}`, found: format(found), isMet: found.median >= goal };
}

export function atMost(what: string, found: Spread, goal: number, stretch?: number): Target {
  const wish = stretch === undefined ? '' : ` (stretch ${stretch})`;
  return { what, goal: `≤ ${goal}${wish}`, found: format(found), isMet: found.median <= goal };
}

/** Both stores of a service with the same settings. */
export async function onBothStores(
  stage: Stage,
  options: Partial<PosternOptions> = {},
): Promise<readonly Postern[]> {
  return [
    await stage.postern({ ...options, name: 'postern, lmdb', store: stage.lmdb('lmdb') }),
    await stage.postern({ ...options, name: 'postern, redis', store: await stage.redis() }),
  ];
}

/** Nothing to show in that cell. */
export const NONE: Spread = { median: Number.NaN, least: Number.NaN, most: Number.NaN };

/** CPU of a request less that of its signatures, made in the same round, against the bare engine's less as many. */
export function besideRatio(rounds: readonly Round[], name: string, of: string, signatures: number): Spread {
  const beside = (round: Round, one: string) =>
    withoutHash(sliceOf(round, one)) - signatures * sliceOf(round, S1).cpuMicroseconds;
  return over(rounds, (round) => beside(round, name) / beside(round, of));
}

export const withoutHash = ({ cpuMicroseconds, backgroundMicroseconds = 0 }: Slice): number =>
  cpuMicroseconds - backgroundMicroseconds;

/** Plain data for the JSON file. */
export function plain(rounds: readonly Round[]): unknown {
  return rounds.map((round) => Object.fromEntries(round));
}
