// A worker's side of the channel to the primary, and the messages that cross it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../config/config.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Status } from '../../http/management.ts';
import type { ProcessMetrics } from '../../observability/metrics.ts';

/** The first message to a worker: what it starts with. Later it reads the files itself. Each further message asks for a report. */
export type Job = Readonly<{
  /** From 1; the process that takes this one's place has the same. */
  worker: number;
  loaded: LoadedConfig;
  /** What the first workers started with: settings that need a restart are taken from here. */
  started: Config;
}>;

export type Report = { readonly status: Status; readonly metrics: ProcessMetrics };

export type WorkerMessage =
  | { readonly kind: 'serving' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'taken'; readonly loaded: LoadedConfig }
  | ({ readonly kind: 'report' } & Report);

export async function receiveJob(): Promise<Job> {
  const [job] = (await once(process, 'message')) as [Job];
  return job;
}

/** Without a callback, an error would be emitted when the primary is gone. */
export function tell(message: WorkerMessage, onSent: () => void = () => undefined): void {
  process.send?.(message, onSent);
}

/** A failure isn't reported: to the primary it is silence. */
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

/** Resolves when the primary closed the channel or died. While nothing is served, that ends the process at once. */
export async function untilChannelEnds(isServing: () => boolean): Promise<void> {
  const { worker } = cluster;
  if (!worker) throw new TypeError('this process is no worker');
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
