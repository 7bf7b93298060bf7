// The primary process: it starts the workers and answers on the management port for all of them. It opens no store
// and loads no engine, so that it keeps answering when a worker fails.
import cluster from 'node:cluster';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load.ts';
import { keepUntilRestart } from '../config/restart.ts';
import {
  createManagementApp,
  type PendingSetting,
  type Status,
  type WorkerConfig,
} from '../http/management.ts';
import { createListener, type Listener } from '../http/server.ts';
import { createTryOut, findDemo } from '../http/try-out.ts';
import { addUp, type ProcessMetrics, toText } from '../observability/metrics.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { KeptWorker } from './worker-process.ts';

/** Longer than a worker's own drain. */
const STOP_WITHIN_MS = 9500;

/** The primary in log and metrics; its workers are numbers from 1. */
export const PRIMARY = 'primary';

export class Primary {
  readonly #telemetry: Telemetry;
  readonly #management: Listener;
  readonly #workers: readonly KeptWorker[];
  readonly #started: Config;
  /** What a new worker starts with: the configuration that the others run, even while the file is broken. */
  #loaded: LoadedConfig;
  /** The counters of all workers that ended. Prometheus takes a counter that falls for a restart. */
  #ended: Promise<ProcessMetrics> = Promise.resolve([]);

  /** Nothing runs yet. */
  constructor(loaded: LoadedConfig, telemetry: Telemetry) {
    const { config } = loaded;
    this.#telemetry = telemetry;
    this.#started = config;
    this.#loaded = loaded;
    this.#management = createListener('management', config.management);
    this.#workers = Array.from(
      { length: config.workers },
      (_none, index) =>
        new KeptWorker({
          number: index + 1,
          processes: config.workers,
          log: telemetry.log,
          job: () => ({ started: config, loaded: this.#loaded }),
          onTaken: (taken) => this.#follow(taken),
          onEnded: (counted, why) => {
            if (why !== 'stopped') telemetry.metrics.workerEnded();
            if (why === 'crashed') telemetry.metrics.crashed();
            this.#ended = this.#ended.then((before) => addUp([before, counted]));
          },
        }),
    );
    telemetry.metrics.describe(async () => {
      const { problems, configuration } = await this.#status();
      return {
        configurationHash: configuration.hash,
        configurationIsCurrent: configuration.problem === undefined,
        ready: problems.length === 0,
      };
    });
  }

  /** Resolves when all workers serve. Rejects with one clear line for the operator. */
  async start(): Promise<void> {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // A structured clone, because JSON has no Buffers.
    cluster.setupPrimary({
      serialization: 'advanced',
      execArgv: [...process.execArgv, '--disable-sigusr1'],
    });
    try {
      await this.#serveManagement();
      await Promise.all([this.#management.start(), ...this.#workers.map((worker) => worker.start())]);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Each worker opens its log files again and looks at the configuration. */
  reload(): void {
    for (const worker of this.#workers) worker.reload();
  }

  /** Lets requests in flight end; at most 10 s. */
  async stop(): Promise<void> {
    const deadline = setTimeout(() => this.#workers.forEach((worker) => worker.kill()), STOP_WITHIN_MS);
    // All at once, so that no worker refuses connections while another one still accepts them.
    await Promise.all([...this.#workers.map((worker) => worker.stop()), this.#management.stop()]);
    clearTimeout(deadline);
  }

  /** A worker runs `loaded`. The others read the same files at about the same time. */
  #follow(loaded: LoadedConfig): void {
    if (loaded.readAt < this.#loaded.readAt) return;
    this.#loaded = loaded;
    this.#serveManagement().catch((error: unknown) =>
      this.#telemetry.log.error({ err: error }, 'the configuration could not be taken over'),
    );
  }

  async #serveManagement(): Promise<void> {
    const config = keepUntilRestart(this.#started, this.#loaded.config);
    this.#management.serve(
      createManagementApp({
        address: config.management,
        status: () => this.#status(),
        metrics: () => this.#metrics(),
        tryOut: findDemo(config) && (await openTryOut(config)),
      }),
    );
  }

  async #status(): Promise<Status> {
    const statuses = await Promise.all(
      this.#workers.map(async (worker) => {
        const { number, pid, isServing } = worker;
        return { worker: number, pid, isServing, status: await worker.ask('status') };
      }),
    );
    return combineStatus(statuses, this.#loaded.hash);
  }

  async #metrics(): Promise<string> {
    const [own, ...answered] = await Promise.all([
      this.#telemetry.metrics.read(),
      ...this.#workers.map((worker) => worker.scrape()),
    ]);
    // No await from here to `#ended`: a worker that ends meanwhile would be counted twice, or not at all.
    const processes = new Map([[PRIMARY, own]]);
    const silent: ProcessMetrics[] = [];
    this.#workers.forEach((worker, index) => {
      if (answered[index] === undefined) silent.push(worker.counted);
      else if (worker.counted.length > 0) processes.set(String(worker.number), worker.counted);
    });
    return toText(processes, await addUp([...silent, await this.#ended]));
  }
}

/** Loaded only where there is a demo. The workers report problems with the views. */
async function openTryOut(config: Config) {
  const { issuer, branding, viewsFolder } = config;
  const { createViews } = await import('../views/views.ts');
  const { pages } = createViews({
    overrideFolder: viewsFolder,
    branding,
    issuer,
    onProblem: () => undefined,
  });
  return createTryOut({ config, pages });
}

export type WorkerStatus = Pick<WorkerConfig, 'worker' | 'pid'> & {
  /** Undefined when it didn't answer. */
  readonly status: Status | undefined;
  readonly isServing: boolean;
};

/** Ready when all workers are. A problem that all of them have is listed once, without a worker. `hash` is what they should run. */
export function combineStatus(workers: readonly WorkerStatus[], hash: string): Status {
  const problems = merge(
    workers.map(({ worker, status, isServing }) => [
      worker,
      status?.problems ?? [isServing ? 'does not answer' : 'is starting'],
    ]),
  );
  const configurations = workers.flatMap(({ worker, status }) =>
    status === undefined ? [] : [{ worker, ...status.configuration }],
  );
  const refusals = merge(
    configurations.map(({ worker, problem }) => [worker, problem === undefined ? [] : [problem]]),
  );
  const pending = new Map<string, PendingSetting>();
  for (const one of configurations.flatMap((configuration) => configuration.pending ?? [])) {
    if (one.problem !== undefined || !pending.has(one.setting)) pending.set(one.setting, one);
  }
  return {
    problems,
    warning: workers.find(({ status }) => status?.warning !== undefined)?.status?.warning,
    configuration: {
      hash,
      warning: configurations.find(({ warning }) => warning !== undefined)?.warning,
      problem: refusals.length === 0 ? undefined : refusals.join('\n'),
      ...(pending.size > 0 && { pending: [...pending.values()] }),
      workers: workers.map(({ worker, pid, status }) => ({ worker, pid, hash: status?.configuration.hash })),
    },
  };
}

/** Each line once, with the workers that have it unless all do. */
function merge(said: readonly (readonly [worker: number, lines: readonly string[]])[]): string[] {
  const workersOf = new Map<string, number[]>();
  for (const [worker, lines] of said) {
    for (const line of lines) workersOf.set(line, [...(workersOf.get(line) ?? []), worker]);
  }
  return [...workersOf].map(([line, workers]) =>
    workers.length === said.length ? line : `worker ${workers.join(', ')}: ${line}`,
  );
}
