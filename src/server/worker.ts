// A worker's side of the channel to the primary, and the messages that cross it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Status } from '../http/management.ts';
import type { ProcessMetrics } from '../observability/metrics.ts';

/** The first message to a worker: what it starts with. Later it reads the files itself. */
export type Job = {
  /** From 1; the process that takes this one's place has the same. */
  readonly worker: number;
  readonly loaded: LoadedConfig;
  /** What the first workers started with: settings that need a restart are taken from here. */
  readonly started: Config;
};

export type Answers = { readonly status: Status; readonly metrics: ProcessMetrics; readonly ping: true };
export type WorkerRequest = { readonly id: number; readonly question: keyof Answers };

export type WorkerMessage =
  | { readonly kind: 'serving' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'taken'; readonly loaded: LoadedConfig }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown };

export async function receiveJob(): Promise<Job> {
  const [job] = (await once(process, 'message')) as [Job];
  return job;
}

export function report(message: WorkerMessage): void {
  // Without a callback, an error is emitted when the primary is gone.
  process.send?.(message, () => undefined);
}

type Answering = { readonly [Q in keyof Answers]: () => Promise<Answers[Q]> };

/** A failure isn't answered: the primary's timeout covers it. */
export function answerQuestions(answers: Answering): void {
  process.on('message', ({ id, question }: WorkerRequest) => {
    answers[question]().then(
      (answer) => report({ kind: 'answer', id, answer }),
      () => undefined,
    );
  });
}

/** A terminal signals all processes at once, but the primary stops the workers. A second signal ends this one too. */
export function leaveSignalsToThePrimary(): void {
  process.once('SIGINT', () => undefined);
  process.once('SIGTERM', () => undefined);
  process.on('SIGHUP', () => undefined);
}

/** Resolves when the primary closed the channel or died. While nothing is served, that ends the process at once. */
export async function untilChannelEnds(isServing: () => boolean): Promise<void> {
  const { worker } = cluster;
  if (worker === undefined) throw new TypeError('this process is no worker');
  if (worker.isConnected())
    await new Promise<void>((resolve) => {
      worker.once('disconnect', () => {
        // Or node:cluster ends the process here and now.
        worker.exitedAfterDisconnect = true;
        resolve();
      });
    });
  if (!isServing()) process.exit(0);
}
