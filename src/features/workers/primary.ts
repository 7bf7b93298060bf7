// The primary process: starts the workers and answers on the management port for all of them. It opens no store and loads no engine, so
// that it answers when a worker fails.
import cluster from 'node:cluster';
import type { LoadedConfig } from '../../config/load.ts';
import { createManagementApp, type Status, summaryOf } from '../../http/management.ts';
import { createListener } from '../../http/server.ts';
import { addUp, type ProcessMetrics, toText } from '../../observability/metrics.ts';
import type { Telemetry } from '../../observability/telemetry.ts';
import { KeptWorker } from './kept-worker.ts';

/** Longer than a worker's own drain. */
const STOP_WITHIN_MS = 9500;

/** Name of the primary in logs and metrics. Its workers have numbers from 1. */
export const PRIMARY = 'primary';

/** Starts nothing yet. */
export function createPrimary(first: LoadedConfig, telemetry: Telemetry) {
  const { config } = first;
  const { metrics } = telemetry;
  /** The configuration for a new worker: the one that the others run, even while the file is broken. */
  let loaded = first;
  /** The counters of all workers that ended, kept because Prometheus treats a falling counter as a restart. */
  let ended: Promise<ProcessMetrics> = Promise.resolve([]);
  const workers = Array.from(
    { length: config.workers },
    (_none, index) =>
      new KeptWorker({
        number: index + 1,
        processes: config.workers,
        telemetry,
        job: () => ({ started: config, loaded }),
        // The others read the same files at about the same time.
        onTaken(taken) {
          if (taken.readAt >= loaded.readAt) loaded = taken;
        },
        onEnded(counted) {
          ended = ended.then((before) => addUp([before, counted]));
        },
      }),
  );
  const management = createListener('management', config.management);
  management.serve(createManagementApp({ address: config.management, status, metrics: scrape }));
  metrics.describe(async () => summaryOf(await status()));

  async function status(): Promise<Status> {
    const reports = await Promise.all(workers.map((worker) => worker.look()));
    return combine(
      reports.map((report) => report?.status),
      workers,
      loaded.hash,
    );
  }

  async function scrape(): Promise<string> {
    // This asks all workers for a report.
    const own = await metrics.read();
    // No await from here to `ended`: a worker that ends meanwhile would be counted twice, or not at all.
    const processes = new Map([[PRIMARY, own]]);
    workers.forEach(({ counted }, index) => {
      if (counted.length > 0) processes.set(String(index + 1), counted);
    });
    return toText(processes, await ended);
  }

  /** Lets requests in flight finish, for at most 10 s. */
  async function stop(): Promise<void> {
    const deadline = setTimeout(() => workers.forEach((worker) => worker.kill()), STOP_WITHIN_MS);
    // All at once, so that no worker refuses connections while another one still accepts them.
    await Promise.all([...workers.map((worker) => worker.stop()), management.stop()]);
    clearTimeout(deadline);
  }

  return {
    /** Resolves when all workers serve. Rejects with one clear line for the administrator. */
    async start(): Promise<void> {
      cluster.schedulingPolicy = cluster.SCHED_RR;
      // A structured clone, because JSON has no Buffers.
      cluster.setupPrimary({
        serialization: 'advanced',
        execArgv: [...process.execArgv, '--disable-sigusr1'],
      });
      try {
        await Promise.all([management.start(), ...workers.map((worker) => worker.start())]);
      } catch (error) {
        await stop();
        throw error;
      }
    },
    reload(): void {
      for (const worker of workers) worker.reload();
    },
    stop,
  };
}

/** Ready when all workers are. Shows a rejected configuration, if a worker has one. `hash` is the configuration that they should run. */
function combine(
  statuses: readonly (Status | undefined)[],
  workers: readonly KeptWorker[],
  hash: string,
): Status {
  const said = statuses.filter((status) => status !== undefined);
  const problems = statuses.flatMap(
    (status, index) => status?.problems ?? [`worker ${index + 1} does not answer`],
  );
  const shown = said.find(({ configuration }) => configuration.problem !== undefined) ?? said[0];
  return {
    problems: [...new Set(problems)],
    warning: said.find(({ warning }) => warning !== undefined)?.warning,
    configuration: {
      problem: undefined,
      ...shown?.configuration,
      hash,
      workers: workers.map(({ pid }, index) => ({ pid, hash: statuses[index]?.configuration.hash })),
    },
  };
}
