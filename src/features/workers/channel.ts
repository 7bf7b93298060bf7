// A worker's side of the channel to the primary, and the messages that cross it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../config/config.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Status } from '../../http/management.ts';
import type { ProcessMetrics } from '../../observability/metrics.ts';

/** The first message to a worker, which starts with it and later reads the files itself. Each further message requests a report. */
export type Job = Readonly<{
  /** From 1; a replacement process has the same number. */
  worker: number;
  loaded: LoadedConfig;
  /** The configuration of the first workers. Settings that need a restart are taken from here. */
  started: Config;
}>;

export type Report = Readonly<{ status: Status; metrics: ProcessMetrics }>;

export type WorkerMessage =
  | { readonly kind: 'serving' }
  | Readonly<{ kind: 'refused'; reason: string }>
  | Readonly<{ kind: 'taken'; loaded: LoadedConfig }>
  | ({ readonly kind: 'report' } & Report);

export async function receiveJob(): Promise<Job> {
  const [job] = (await once(process, 'message')) as [Job];
  return job;
}

/** Without a callback, an error would be emitted when the primary is gone. */
export function tell(message: WorkerMessage, onSent: () => void = () => undefined): void {
  process.send?.(message, onSent);
}

/** Answers each request for a report. A failure sends nothing: the primary then gets no answer. */
export function reportWhenAsked(report: () => Promise<Report>): void {
  process.on('message', () => {
    report().then(
      (said) => tell({ kind: 'report', ...said }),
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

/** Resolves when the primary has closed the channel or exited. While nothing is served, that ends the process at once. */
export async function untilChannelEnds(isServing: () => boolean): Promise<void> {
  const { worker } = cluster;
  if (!worker) throw new TypeError('this process is no worker');
  if (worker.isConnected())
    await new Promise<void>((resolve) => {
      worker.once('disconnect', () => {
        // Otherwise node:cluster ends the process immediately.
        worker.exitedAfterDisconnect = true;
        resolve();
      });
    });
  if (!isServing()) process.exit(0);
}
