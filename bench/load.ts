// One slice of load by wrk, and what it found.
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { cpuSeconds } from './processes.ts';

export type Request = {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

export type Slice = {
  readonly requestsPerSecond: number;
  /** CPU of the served process for one request. */
  readonly cpuMicroseconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

const run = promisify(execFile);

/** Throws when any answer is not 2xx: a fast refusal is no result. */
export async function load(
  request: Request,
  pid: number,
  seconds: number,
  connections: number,
): Promise<Slice> {
  const script = await writeScript(request);
  const before = cpuSeconds(pid);
  const { stdout } = await run('wrk', [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    '-s',
    script,
    request.url,
  ]);
  const cpu = cpuSeconds(pid) - before;
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1];
  if (failed !== undefined) throw new Error(`${failed} requests to ${request.url} failed`);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    cpuMicroseconds: (cpu / requests) * 1e6,
    p50Ms: toMs(/50%\s+(\S+)/.exec(stdout)?.[1]),
    p99Ms: toMs(/99%\s+(\S+)/.exec(stdout)?.[1]),
  };
}

async function writeScript({ method = 'GET', headers = {}, body }: Request): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-bench-'));
  const file = path.join(folder, 'request.lua');
  const lines = [
    `wrk.method = ${JSON.stringify(method)}`,
    ...Object.entries(headers).map(
      ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
    ),
    ...(body === undefined ? [] : [`wrk.body = ${JSON.stringify(body)}`]),
  ];
  await writeFile(file, lines.join('\n'));
  return file;
}

function toMs(text = ''): number {
  const value = Number.parseFloat(text);
  if (text.endsWith('us')) return value / 1000;
  return text.endsWith('ms') ? value : value * 1000;
}
