// The process above several workers: the same Service to whoever starts it, done by asking them. Owns the management
// listener, which configuration runs, and the order of a stop. It opens no store and loads no engine: it has to be there
// when a worker isn't.
import cluster from 'node:cluster';
import type { Config, ConfigError } from '../config/config.ts';
import { keepUntilRestart, needRestart } from '../config/restart.ts';
import { createManagementApp, type ConfigStatus, type Status } from '../http/management.ts';
import { createListener, type Listener } from '../http/server.ts';
import { createTryOut, findDemo } from '../http/try-out.ts';
import type { Views } from '../pages/views.ts';
import type { Service } from '../service.ts';
import { toText } from '../telemetry/metrics.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { KeptWorker } from './kept-worker.ts';
import type { Job } from './questions.ts';
import { createSilentWorkers } from './silent-workers.ts';
import { combineStatus } from './status.ts';

/** A worker that hears nothing for so long will not hear of a removed client either: another one takes its place. */
const RECONFIGURE_WITHIN_MS = 30_000;
/** A worker's own drain ends before. */
const STOP_WITHIN_MS = 9500;

/** Nothing runs yet. */
export function createPrimary(config: Config, hash: string, telemetry: Telemetry): Primary {
  return new WorkersPrimary({ config, hash }, telemetry);
}

export interface Primary extends Service {
  /** After logrotate: every worker opens its files again by their names. */
  reopen(): Promise<void>;
}

/** How this process calls itself in log and metrics; its workers are numbers from 1. */
export const PRIMARY = 'primary';

class WorkersPrimary implements Primary {
  readonly #telemetry: Telemetry;
  readonly #management: Listener;
  readonly #workers: readonly KeptWorker[];
  /** The first worker goes first: at the first start of all it makes the keys, and the others find them. */
  readonly #firstServes = Promise.withResolvers<void>();
  readonly #silent = createSilentWorkers();
  #job: Job;
  #status: ConfigStatus;
  #views: Views | undefined;

  constructor(job: Job, telemetry: Telemetry) {
    this.#job = job;
    this.#telemetry = telemetry;
    this.#status = { hash: job.hash, problem: undefined };
    this.#management = createListener('management', job.config.management);
    this.#workers = Array.from({ length: job.config.workers }, (_none, index) => {
      const isFirst = index === 0;
      return new KeptWorker({
        number: index + 1,
        processes: job.config.workers,
        log: telemetry.log,
        job: async () => {
          if (!isFirst) await this.#firstServes.promise;
          return this.#job;
        },
      });
    });
    telemetry.metrics.describe(async () => ({
      configurationHash: this.#status.hash,
      configurationIsCurrent: this.#status.problem === undefined,
      ready: (await this.#askStatus()).problems.length === 0,
      // Told by the workers.
      pending: [],
      keys: [],
      nextKeyStepAt: undefined,
      secretExpiries: [],
      secretUses: [],
      storeWarnings: [],
    }));
  }

  async start(): Promise<void> {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // A structured clone, because JSON has no Buffers.
    cluster.setupPrimary({
      serialization: 'advanced',
      execArgv: [...process.execArgv, '--disable-sigusr1'],
    });
    try {
      const [first, ...others] = this.#workers.map((worker) => worker.start());
      const firstServes = first?.then(() => this.#firstServes.resolve());
      await Promise.all([this.#startManagement(), firstServes, ...others]);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async reconfigure(wanted: Config, hash: string): Promise<void> {
    const old = this.#job;
    // First, because a process which begins meanwhile begins with it.
    this.#job = { config: keepUntilRestart(old.config, wanted), hash };
    // The whole file: the workers try what waits for a restart on the keys in the store.
    const refusal = await this.#handOut({ config: wanted, hash });
    if (refusal !== undefined) {
      this.#job = old;
      await this.#handOut(old);
      // The workers have told the audit trail.
      this.#status = { ...this.#status, problem: `the configuration could not be taken over: ${refusal}` };
      throw new Error(refusal);
    }
    const pending = needRestart(old.config, wanted).map((setting) => ({ setting }));
    this.#status = { hash, problem: undefined, ...(pending.length > 0 && { pending }) };
    await this.#serveManagement();
  }

  refuse(error: ConfigError): void {
    this.#status = { ...this.#status, problem: error.message };
    const { log, audit, metrics } = this.#telemetry;
    log.error({ problems: error.problems }, 'the configuration is broken, the old one goes on');
    audit.record('configuration_changed', 'failure', { configuration: this.#status.hash });
    metrics.reload('refused');
  }

  confirm(): void {
    if (this.#status.problem !== undefined) this.#telemetry.log.info('the configuration is in order again');
    this.#status = { ...this.#status, problem: undefined };
  }

  async reopen(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ask('reopen', undefined)));
  }

  async stop(): Promise<void> {
    const deadline = setTimeout(() => this.#workers.forEach((worker) => worker.kill()), STOP_WITHIN_MS);
    // All in one step: no worker turns its callers away while another one still accepts them.
    await Promise.all([...this.#workers.map((worker) => worker.stop()), this.#management.stop()]);
    clearTimeout(deadline);
    await this.#views?.stop();
  }

  /** Asks every worker that serves; undefined, or why one of them refused. */
  async #handOut(job: Job): Promise<string | undefined> {
    const outcomes = await Promise.all(
      this.#workers
        .filter(({ isServing }) => isServing)
        .map(async (worker) => {
          const outcome = await worker.ask('reconfigure', job, RECONFIGURE_WITHIN_MS);
          if (outcome.kind === 'silent') worker.kill();
          return outcome;
        }),
    );
    return outcomes.find((outcome) => outcome.kind === 'refused')?.message;
  }

  async #startManagement(): Promise<void> {
    await this.#serveManagement();
    await this.#management.start();
  }

  async #serveManagement(): Promise<void> {
    const { config } = this.#job;
    await this.#views?.stop();
    this.#views = findDemo(config) && (await openViews(config));
    const tryOut = this.#views && createTryOut({ config, pages: this.#views.pages });
    this.#management.serve(
      createManagementApp({
        address: config.management,
        status: () => this.#askStatus(),
        metrics: () => this.#askMetrics(),
        tryOut,
      }),
    );
  }

  async #askMetrics(): Promise<string> {
    const [own, ...workers] = await Promise.all([
      this.#telemetry.metrics.read(),
      ...this.#workers.map(async (worker) => {
        const { number, pid } = worker;
        const outcome = await worker.ask('metrics', undefined);
        return { number, pid, metrics: outcome.kind === 'answered' ? outcome.answer : undefined };
      }),
    ]);
    const processes = new Map([[PRIMARY, own]]);
    for (const { number, metrics } of workers) {
      if (metrics !== undefined) processes.set(String(number), metrics);
    }
    return toText(processes, await this.#silent.missing(workers));
  }

  async #askStatus(): Promise<Status> {
    const answers = await Promise.all(
      this.#workers.map(async (worker) => {
        const { number, pid, isServing } = worker;
        const outcome = isServing ? await worker.ask('status', undefined) : undefined;
        const status = outcome?.kind === 'answered' ? outcome.answer : undefined;
        return { worker: number, pid, isServing, status };
      }),
    );
    return combineStatus(answers, this.#status);
  }
}

/** The try-out page's own; what is wrong with a view is said by the workers. Loaded only where there is a demo. */
async function openViews({ issuer, viewsFolder, branding }: Config): Promise<Views> {
  const [{ createViews }, { BUILT_IN_FOLDER }] = await Promise.all([
    import('../pages/views.ts'),
    import('../pages/built-in-folder.ts'),
  ]);
  return createViews({
    builtInFolder: BUILT_IN_FOLDER,
    overrideFolder: viewsFolder,
    branding,
    issuer,
    onProblem: () => undefined,
  });
}
