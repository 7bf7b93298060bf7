// One worker as the primary sees it: a process, and the next one when it ends. Owns when another one takes its place;
// what it is asked, besides to start, is the primary's business.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '../http/server.ts';
import { threadPoolOf } from '../config/threads.ts';
import type { Log } from '../telemetry/log.ts';
import {
  createQuestioner,
  type Ask,
  type Answer,
  type Job,
  type Outcome,
  type Question,
  type Questioner,
} from './questions.ts';
import { watchSilence } from './silence.ts';

/** Reading keys and building the first engine, on a machine that is busy with other things. */
const START_WITHIN_MS = 60_000;
/** Who served for so long was in order. */
const STEADY_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** At the first start: a process that dies so often without a word will not do better. */
const FIRST_START_ATTEMPTS = 3;

export type KeptWorkerParts = {
  /** From 1; the next process keeps it. */
  readonly number: number;
  /** How many there are, to share the machine's cores. */
  readonly processes: number;
  readonly log: Log;
  /** What to run, always the newest. Resolves when the process, which is loading its code by then, may begin. */
  readonly job: () => Promise<Job>;
};

type Running = { readonly worker: Worker; readonly questioner: Questioner; readonly ended: Promise<string> };
type Life = { readonly reason: string; readonly wasRefused: boolean; readonly servedMs: number };

export class KeptWorker {
  readonly number: number;
  readonly #parts: KeptWorkerParts;
  readonly #stopped = new AbortController();
  #now: Running | undefined;
  #isServing = false;
  #kept: Promise<void> | undefined;

  constructor(parts: KeptWorkerParts) {
    this.number = parts.number;
    this.#parts = parts;
  }

  get pid(): number | undefined {
    return this.#now?.worker.process.pid;
  }

  /** It accepts requests. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** Resolves when the first process serves; rejects with what it said when it can't. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#kept = this.#keep(resolve, reject);
    });
  }

  /** Never rejects. A worker that doesn't run is silent. */
  async ask<Q extends Question>(question: Q, ask: Ask<Q>, withinMs?: number): Promise<Outcome<Answer<Q>>> {
    return (await this.#now?.questioner.ask(question, ask, withinMs)) ?? { kind: 'silent' };
  }

  /** kill -9; another one takes its place unless this one is stopping. */
  kill(): void {
    this.#now?.worker.process.kill('SIGKILL');
  }

  /** Ends the process in good order; no other one takes its place. From the first moment on it gets no new connection. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#now?.worker.disconnect();
    await this.#kept;
  }

  async #keep(onServing: () => void, onHopeless: (error: Error) => void): Promise<void> {
    const { log, number: worker } = this.#parts;
    const { signal } = this.#stopped;
    let hasServed = false;
    let failures = 0;
    while (!signal.aborted) {
      const { reason, wasRefused, servedMs } = await this.#live(() => {
        hasServed = true;
        onServing();
      });
      failures = servedMs > STEADY_AFTER_MS ? 0 : failures + 1;
      if (signal.aborted) break;
      if (!hasServed && (wasRefused || failures === FIRST_START_ATTEMPTS)) {
        return onHopeless(
          new StartError(wasRefused ? reason : `worker ${worker} could not start: ${reason}`),
        );
      }
      const pauseMs = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
      log.error({ ended: worker, reason, pauseMs }, 'a worker ended, another one takes its place');
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    onHopeless(new StartError(`worker ${worker} was stopped before it served`));
  }

  /** One process from its birth to its end. */
  async #live(onServing: () => void): Promise<Life> {
    const { worker, questioner, ended } = (this.#now = fork(this.#parts.processes));
    const isOver = ended.then(() => undefined);
    try {
      // Its code is loading meanwhile.
      const job = await Promise.race([this.#parts.job(), isOver]);
      const outcome = await this.#begin(questioner, job);
      if (outcome.kind === 'refused') {
        worker.disconnect();
        await ended;
        return { reason: outcome.message, wasRefused: true, servedMs: 0 };
      }
      if (outcome.kind === 'silent') {
        worker.process.kill('SIGKILL');
        return { reason: await ended, wasRefused: false, servedMs: 0 };
      }
      const began = performance.now();
      this.#isServing = true;
      onServing();
      void this.#watch(questioner, AbortSignal.any([this.#stopped.signal, signalOf(ended)]));
      return { reason: await ended, wasRefused: false, servedMs: performance.now() - began };
    } finally {
      this.#isServing = false;
      this.#now = undefined;
    }
  }

  /** One that hangs holds its place, and the connections dealt to it, until it is gone. */
  async #watch(questioner: Questioner, signal: AbortSignal): Promise<void> {
    await watchSilence({
      signal,
      answers: async (withinMs) => (await questioner.ask('alive', undefined, withinMs)).kind === 'answered',
      onSilent: () => {
        this.#parts.log.error({ silent: this.number }, 'a worker does not answer any more and is killed');
        this.kill();
      },
    });
  }

  async #begin(questioner: Questioner, job: Job | undefined): Promise<Outcome<void>> {
    if (job === undefined) return { kind: 'silent' };
    let outcome = await questioner.ask('start', { ...job, worker: this.number }, START_WITHIN_MS);
    let known = job;
    // The configuration changed while it started.
    for (let newest = await this.#parts.job(); newest !== known; newest = await this.#parts.job()) {
      known = newest;
      if (outcome.kind !== 'answered') continue;
      const taken = await questioner.ask('reconfigure', newest, START_WITHIN_MS);
      // It must not serve with the old one while the others have the new one: another process begins anew.
      if (taken.kind !== 'answered') outcome = { kind: 'silent' };
    }
    return outcome;
  }
}

function signalOf(end: Promise<unknown>): AbortSignal {
  const controller = new AbortController();
  void end.then(() => controller.abort());
  return controller.signal;
}

function fork(processes: number): Running {
  const worker = cluster.fork(threadPoolOf(processes));
  const questioner = createQuestioner(worker);
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`));
    worker.on('error', (error) => {
      // There was no process to begin with; anything else is followed by its end.
      if (worker.process.pid === undefined) resolve(error.message);
    });
  });
  void ended.then(() => questioner.close());
  return { worker, questioner, ended };
}
