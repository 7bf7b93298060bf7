// One worker as the primary sees it: its process is restarted when it ends or hangs.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { threadPoolOf } from '../config/threads.ts';
import { StartError } from '../http/server.ts';
import type { Log } from '../observability/log.ts';
import type { ProcessMetrics } from '../observability/metrics.ts';
import type { Answers, Job, WorkerMessage, WorkerRequest } from './worker.ts';

/** Time to read keys and build the first engine, on a busy machine. */
const START_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 2000;
const PING_EVERY_MS = 5000;
/** In a row. Counted rather than timed: a machine that slept for an hour has missed one. */
const MISSED_PINGS = 3;
/** After serving this long, the next failure counts as the first. */
const STEADY_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
const FIRST_START_ATTEMPTS = 3;

type KeptWorkerParts = {
  /** From 1; the process that takes the place of another has the same. */
  readonly number: number;
  /** How many share the machine's cores. */
  readonly processes: number;
  readonly log: Log;
  readonly job: () => Omit<Job, 'worker'>;
  readonly onTaken: (loaded: Job['loaded']) => void;
  /** The counters of a process that ended, as of its last answer, and why it did. */
  readonly onEnded: (counted: ProcessMetrics, why: 'stopped' | 'crashed' | 'ended') => void;
};

export class KeptWorker {
  readonly #parts: KeptWorkerParts;
  readonly #stopping = new AbortController();
  readonly #firstServing = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #lastId = 0;
  #missedPings = 0;
  #worker: Worker | undefined;
  #refusal: string | undefined;
  #hasServed = false;
  #servingSince: number | undefined;
  #kept: Promise<void> | undefined;
  /** The counters of the running process, as of its last answer. */
  counted: ProcessMetrics = [];

  constructor(parts: KeptWorkerParts) {
    this.#parts = parts;
  }

  get number(): number {
    return this.#parts.number;
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  get isServing(): boolean {
    return this.#servingSince !== undefined;
  }

  /** Resolves when it serves for the first time; rejects with the reason when it can't. */
  async start(): Promise<void> {
    this.#kept = this.#keep();
    await this.#firstServing.promise;
  }

  /** Ends the process gracefully; it gets no new connections from now on. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#disconnect();
    await this.#kept;
  }

  /** SIGHUP. It would end a worker that doesn't serve yet, and that one is reading the files anyway. */
  reload(): void {
    if (this.isServing) this.#worker?.process.kill('SIGHUP');
  }

  /** Once: to be asked again is an error in the worker. */
  #disconnect(): void {
    if (this.#worker?.exitedAfterDisconnect !== true) this.#worker?.disconnect();
  }

  kill(): void {
    this.#worker?.process.kill('SIGKILL');
  }

  /** Undefined when it doesn't serve or doesn't answer. */
  async ask<Q extends keyof Answers>(question: Q): Promise<Answers[Q] | undefined> {
    if (!this.isServing) return undefined;
    const id = (this.#lastId += 1);
    const answer = await new Promise<unknown>((resolve) => {
      this.#waiting.set(id, resolve);
      setTimeout(resolve, ANSWER_WITHIN_MS).unref();
      this.#send({ id, question });
    });
    this.#waiting.delete(id);
    return answer as Answers[Q] | undefined;
  }

  async scrape(): Promise<ProcessMetrics | undefined> {
    const metrics = await this.ask('metrics');
    if (metrics !== undefined) this.counted = metrics;
    return metrics;
  }

  async #keep(): Promise<void> {
    const { log, number } = this.#parts;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const { reason, isSteady } = await this.#live();
      if (signal.aborted) break;
      failures = isSteady ? 0 : failures + 1;
      if (!this.#hasServed && (this.#refusal !== undefined || failures === FIRST_START_ATTEMPTS)) {
        const message = this.#refusal ?? `worker ${number} could not start: ${reason}`;
        return this.#firstServing.reject(new StartError(message));
      }
      const pauseMs = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
      log.error({ ended: number, reason, pauseMs }, 'a worker ended, another one takes its place');
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    this.#firstServing.reject(new StartError(`worker ${number} was stopped before it served`));
  }

  /** One process from its start to its end. */
  async #live(): Promise<{ readonly reason: string; readonly isSteady: boolean }> {
    const { number, processes, job, onEnded } = this.#parts;
    const worker = cluster.fork(threadPoolOf(processes));
    this.#worker = worker;
    this.#refusal = undefined;
    this.#missedPings = 0;
    worker.on('message', (report: WorkerMessage) => this.#receive(report));
    this.#send({ worker: number, ...job() } satisfies Job);
    const starting = setTimeout(() => this.isServing || this.kill(), START_WITHIN_MS);
    const pinging = setInterval(() => this.#ping(), PING_EVERY_MS);
    const ended = await endOf(worker);
    clearTimeout(starting);
    clearInterval(pinging);
    // While it serves, nothing but crash.ts ends it so.
    const hasCrashed = this.isServing && worker.process.exitCode === 1;
    const servedMs = performance.now() - (this.#servingSince ?? performance.now());
    this.#worker = undefined;
    this.#servingSince = undefined;
    for (const resolve of this.#waiting.values()) resolve(undefined);
    onEnded(this.counted, this.#stopping.signal.aborted ? 'stopped' : hasCrashed ? 'crashed' : 'ended');
    this.counted = [];
    return { reason: this.#refusal ?? ended, isSteady: servedMs > STEADY_AFTER_MS };
  }

  #receive(report: WorkerMessage): void {
    this.#missedPings = 0;
    if (report.kind === 'taken') this.#parts.onTaken(report.loaded);
    if (report.kind === 'answer') this.#waiting.get(report.id)?.(report.answer);
    if (report.kind === 'refused') {
      this.#refusal = report.reason;
      this.#disconnect();
    }
    if (report.kind === 'serving') {
      this.#servingSince = performance.now();
      this.#hasServed = true;
      this.#firstServing.resolve();
    }
  }

  /** A process that hangs keeps its place, and the connections dealt to it, until it is killed. */
  #ping(): void {
    if (!this.isServing) return;
    if (this.#missedPings === MISSED_PINGS) {
      this.#parts.log.error({ silent: this.number }, 'a worker does not answer any more and is killed');
      return this.kill();
    }
    this.#missedPings += 1;
    this.#send({ id: 0, question: 'ping' });
  }

  #send(message: Job | WorkerRequest): void {
    // An error here means that it has ended, which is handled elsewhere.
    this.#worker?.send(message, () => undefined);
  }
}

/** Resolves with how the process ended, or why there was none. */
async function endOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`));
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) resolve(error.message);
    });
  });
}
