// One slice of load by wrk, and what it found. wrk is a process of its own, and its CPU isn't counted.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { cpuSeconds } from './processes.ts';

export type Request = {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** One after the other, in place of the one in `headers`. */
  readonly authorizations?: readonly string[];
  readonly body?: string;
};

/** What a slice of load found; of a loop without requests, only the first two. */
export type Slice = {
  readonly perSecond: number;
  /** CPU of all served processes for one request. */
  readonly cpuMicroseconds: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Answered, but not with what was asked for. */
  readonly refused?: number;
};

const run = promisify(execFile);

/** Throws when any answer is not 2xx: a fast refusal is no result. */
export async function load(request: Request, pid: number, seconds: number, connections = 32): Promise<Slice> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-bench-'));
  const script = path.join(folder, 'request.lua');
  await writeFile(script, toLua(request));
  const before = cpuSeconds(pid);
  const { stdout } = await run(
    'wrk',
    ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, request.url],
    { timeout: (seconds + 30) * 1000 },
  );
  const cpu = cpuSeconds(pid) - before;
  await rm(folder, { recursive: true });
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1];
  if (failed !== undefined) throw new Error(`${failed} requests to ${request.url} failed`);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    cpuMicroseconds: (cpu / Number(/(\d+) requests in/.exec(stdout)?.[1])) * 1e6,
    p50Ms: toMs(/50%\s+(\S+)/.exec(stdout)?.[1]),
    p99Ms: toMs(/99%\s+(\S+)/.exec(stdout)?.[1]),
  };
}

function toLua({ method = 'GET', headers = {}, authorizations = [], body }: Request): string {
  const lines = [
    `wrk.method = ${JSON.stringify(method)}`,
    ...Object.entries(headers).map(
      ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
    ),
    ...(body === undefined ? [] : [`wrk.body = ${JSON.stringify(body)}`]),
  ];
  if (authorizations.length > 0) {
    lines.push(
      `local all = {${authorizations.map((one) => JSON.stringify(one)).join(',')}}`,
      'local turn = 0',
      'request = function()',
      '  turn = turn % #all + 1',
      '  wrk.headers["authorization"] = all[turn]',
      '  return wrk.format()',
      'end',
    );
  }
  return lines.join('\n');
}

function toMs(text = ''): number {
  const value = Number.parseFloat(text);
  if (text.endsWith('us')) return value / 1000;
  return text.endsWith('ms') ? value : value * 1000;
}
