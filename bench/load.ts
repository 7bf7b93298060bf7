// Load, and what the service used meanwhile: wrk if all requests are alike, loops of this process if one request follows from another.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Figures } from './measure.ts';
import { cpuSeconds, hashSeconds } from './processes.ts';

export type Request = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Values that replace the one in `headers` in turn. */
  readonly authorizations?: readonly string[];
  /** A form; without it the request is a GET. */
  readonly body?: string;
};

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
/** The share of failures to accept: a store that is late on a busy machine causes a 503 now and then. More makes the result invalid. */
const FEW = 0.02;
const agent = new http.Agent({ keepAlive: true });

/** Sends one request; throws unless the answer is 200. */
export async function ask({ url, headers, body }: Request): Promise<string> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const length = { 'content-length': String(body?.length ?? 0) };
    const sent = http.request(
      url,
      { method, agent, headers: { ...FORM, ...length, ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text);
          else reject(new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 200)}`));
        });
      },
    );
    sent.on('error', reject).end(body);
  });
}

export async function wrk(pid: number, request: Request, seconds: number): Promise<Figures> {
  const before = cpuSeconds(pid);
  const { rate, requests, failed } = await runWrk(request, seconds);
  if (failed > requests * FEW) throw new Error(`${failed} of ${requests} requests to ${request.url} failed`);
  return { rate, cpu: ((cpuSeconds(pid) - before) / requests) * 1e6 };
}

/** `failed`: answers that are neither 2xx nor 3xx. */
export async function runWrk(request: Request, seconds: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-wrk-'));
  try {
    const script = path.join(folder, 'request.lua');
    await writeFile(script, toLua(request));
    const args = ['-t1', '-c32', `-d${seconds}s`, '-s', script, request.url];
    const { stdout } = await promisify(execFile)('wrk', args, { timeout: (seconds + 30) * 1000 });
    const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
    return {
      rate: number(/Requests\/sec:\s+([\d.]+)/),
      requests: number(/(\d+) requests in/),
      failed: number(/Non-2xx or 3xx responses: (\d+)/),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function toLua({ headers = {}, authorizations = [], body }: Request): string {
  const text = JSON.stringify;
  const all = body === undefined ? headers : { ...FORM, ...headers };
  return [
    ...Object.entries(all).map(([name, value]) => `wrk.headers[${text(name)}] = ${text(value)}`),
    ...(body === undefined ? [] : ['wrk.method = "POST"', `wrk.body = ${text(body)}`]),
    ...(authorizations.length === 0
      ? []
      : [
          `local all, turn = {${authorizations.map((one) => text(one)).join(',')}}, 0`,
          'request = function()',
          '  turn = turn % #all + 1',
          '  wrk.headers["authorization"] = all[turn]',
          '  return wrk.format()',
          'end',
        ]),
  ].join('\n');
}

/** Runs `step` in `parallel` loops, for some seconds or until there is no more to do. */
export async function inLoops(
  pid: number,
  parallel: number,
  until: number | (() => boolean),
  step: (loop: number) => Promise<unknown>,
): Promise<Figures> {
  const used = () => ({ cpu: cpuSeconds(pid), hash: hashSeconds(pid) });
  const [before, startedAt] = [used(), performance.now()];
  const isOver = typeof until === 'function' ? until : () => performance.now() >= startedAt + until * 1000;
  let [done, failed, reason] = [0, 0, ''];
  const loop = async (_: unknown, index: number) => {
    while (!isOver()) {
      try {
        await step(index);
        done += 1;
      } catch (error) {
        failed += 1;
        reason = String(error).slice(0, 300);
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, loop));
  if (failed > 1 + done * FEW) throw new Error(`${failed} of ${done + failed} failed, the last: ${reason}`);
  const [after, elapsed] = [used(), (performance.now() - startedAt) / 1000];
  return {
    rate: done / elapsed,
    cpu: ((after.cpu - before.cpu) / done) * 1e6,
    hash: ((after.hash - before.hash) / done) * 1e6,
  };
}

/** Calls `send` at this rate per second, however long each call takes; each is timed from when it was due. */
export async function paced(send: () => Promise<unknown>, rate: number, seconds: number): Promise<Figures> {
  const startedAt = performance.now();
  const times: number[] = [];
  const sent: Promise<unknown>[] = [];
  for (let count = 0; count < rate * seconds; count += 1) {
    const due = startedAt + (count * 1000) / rate;
    await sleep(Math.max(0, due - performance.now()));
    // Timers of this process are early or late by a millisecond, which isn't the service's fault.
    const from = Math.min(performance.now(), Math.max(due, performance.now() - 1));
    sent.push(send().then(() => times.push(performance.now() - from)));
  }
  await Promise.all(sent);
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}
