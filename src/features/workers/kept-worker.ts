// One worker in the primary, which restarts its process when it ends.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { threadPoolOf } from '../../config/threads.ts';
import { StartError } from '../../http/server.ts';
import type { ProcessMetrics } from '../../observability/metrics.ts';
import type { Telemetry } from '../../observability/telemetry.ts';
import type { Job, Report, WorkerMessage } from './channel.ts';

const ANSWER_WITHIN_MS = 2000;
/** If a worker has served this long, its next failure counts as the first. */
const STEADY_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

type KeptWorkerParts = Readonly<{
  /** From 1; a replacement process has the same number. */
  number: number;
  /** Number of processes that share the machine's cores. */
  processes: number;
  telemetry: Telemetry;
  job: () => Omit<Job, 'worker'>;
  onTaken: (loaded: Job['loaded']) => void;
  /** Called with the counters of a process that ended, from its last report. */
  onEnded: (counted: ProcessMetrics) => void;
}>;

export class KeptWorker {
  readonly #parts: KeptWorkerParts;
  readonly #stopping = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #hasServed = false;
  #kept: Promise<void> | undefined;
  #worker: Worker | undefined;
  #servingSince: number | undefined;
  #refusal: string | undefined;
  #asked: PromiseWithResolvers<Report | undefined> | undefined;
  counted: ProcessMetrics = [];

  constructor(parts: KeptWorkerParts) {
    this.#parts = parts;
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  /** Resolves when it serves for the first time; rejects with the reason if it can't. */
  async start(): Promise<void> {
    this.#kept = this.#keep();
    await this.#first.promise;
  }

  /** Ends the process gracefully; it gets no new connections from now on. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // Only once, because a second disconnect is an error in the worker.
    if (this.#worker?.exitedAfterDisconnect !== true) this.#worker?.disconnect();
    await this.#kept;
  }

  /** Sends SIGHUP, except to a worker that doesn't serve yet: it would end, and reads the files anyway. */
  reload(): void {
    if (this.#servingSince !== undefined) this.#worker?.process.kill('SIGHUP');
  }

  kill(): void {
    this.#worker?.process.kill('SIGKILL');
  }

  /** Requests a report. Resolves undefined if the worker doesn't serve or answer. */
  async look(): Promise<Report | undefined> {
    if (this.#servingSince === undefined) return undefined;
    this.#asked ??= Promise.withResolvers();
    this.#send('report');
    return Promise.race([this.#asked.promise, delay(ANSWER_WITHIN_MS, undefined, { ref: false })]);
  }

  async #keep(): Promise<void> {
    const { number, telemetry } = this.#parts;
    const { signal } = this.#stopping;
    let pauseMs = 0;
    while (!signal.aborted) {
      const { reason, isSteady } = await this.#live();
      if (signal.aborted) return;
      if (!this.#hasServed) {
        const message = this.#refusal ?? `worker ${number} could not start: ${reason}`;
        return this.#first.reject(new StartError(message));
      }
      pauseMs = isSteady ? 0 : Math.min(Math.max(FIRST_PAUSE_MS, pauseMs * 2), LONGEST_PAUSE_MS);
      telemetry.log.error({ ended: number, reason, pauseMs }, 'a worker exited and is being replaced');
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Runs one process from its start to its end. */
  async #live(): Promise<Readonly<{ reason: string; isSteady: boolean }>> {
    const { number, processes, job, telemetry, onEnded } = this.#parts;
    const worker = cluster.fork(threadPoolOf(processes));
    [this.#worker, this.#refusal] = [worker, undefined];
    worker.on('message', (message: WorkerMessage) => this.#receive(message));
    this.#send({ worker: number, ...job() });
    const ended = await endOf(worker);
    const since = this.#servingSince;
    // While a worker serves, only exitOnCrash exits with code 1.
    const hasCrashed = since !== undefined && worker.process.exitCode === 1;
    const { aborted } = this.#stopping.signal;
    if (!aborted) telemetry.metrics.count('workers_ended');
    if (!aborted && hasCrashed) telemetry.metrics.count('crashes');
    onEnded(this.counted);
    this.#asked?.resolve(undefined);
    [this.#worker, this.#servingSince, this.#asked, this.counted] = [undefined, undefined, undefined, []];
    const isSteady = since !== undefined && performance.now() - since > STEADY_AFTER_MS;
    return { reason: this.#refusal ?? ended, isSteady };
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === 'taken') this.#parts.onTaken(message.loaded);
    if (message.kind === 'refused') this.#refusal = message.reason;
    if (message.kind === 'report') {
      this.counted = message.metrics;
      this.#asked?.resolve(message);
      this.#asked = undefined;
    }
    if (message.kind === 'serving') {
      this.#servingSince = performance.now();
      this.#hasServed = true;
      this.#first.resolve();
    }
  }

  #send(message: Job | 'report'): void {
    // An error here means that the process has ended, which is handled elsewhere.
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
