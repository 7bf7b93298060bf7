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
  /** Of that, CPU of threads that let others go first: of comparing passwords. */
  readonly backgroundMicroseconds?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Answered, but not with what was asked for. */
  readonly refused?: number;
  /** A second, of what else went on meanwhile. */
  readonly beside?: number;
};

const run = promisify(execFile);

/** A store that is late on a busy machine is answered with 503, once in a while. */
const FEW = 0.001;

/** Throws when answers are neither 2xx nor 3xx: a fast refusal is no result. */
export async function load(request: Request, pid: number, seconds: number, connections = 32): Promise<Slice> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-bench-'));
  try {
    const script = path.join(folder, 'request.lua');
    await writeFile(script, toLua(request));
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, request.url];
    const before = cpuSeconds(pid);
    const { stdout } = await run('wrk', args, { timeout: (seconds + 30) * 1000 });
    return toSlice(request, stdout, cpuSeconds(pid) - before);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function toSlice({ url }: Request, stdout: string, cpu: number): Slice {
  const failed = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  if (failed > requests * FEW) throw new Error(`${failed} of ${requests} requests to ${url} failed`);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    cpuMicroseconds: (cpu / requests) * 1e6,
    // Lines of their own: the table above them has percentages that may end alike.
    p50Ms: toMs(/^\s+50%\s+(\S+)/m.exec(stdout)?.[1]),
    p99Ms: toMs(/^\s+99%\s+(\S+)/m.exec(stdout)?.[1]),
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
