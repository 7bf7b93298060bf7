// One of several processes that serve requests. Owns the life of its service: it begins when the primary says with what,
// and ends when the channel to the primary does, whether the primary closed it or died.
import cluster from 'node:cluster';
import { createService, type OneService } from '../service.ts';
import { openTelemetry, type OpenTelemetry } from '../telemetry/telemetry.ts';
import { answerQuestions, type Ask } from './questions.ts';

type Running = { readonly service: OneService; readonly telemetry: OpenTelemetry };

/** Resolves when this worker has served its time. */
export async function runWorker(): Promise<void> {
  leaveSignalsToThePrimary();
  let running: Running | undefined;
  const ended = untilChannelEnds(() => running !== undefined);
  const find = (): Running => {
    if (running === undefined) throw new Error('the service has not started');
    return running;
  };

  answerQuestions(process, {
    async start(job) {
      running = await start(job);
    },
    alive: () => Promise.resolve(),
    status: async () => find().service.status(),
    metrics: async () => find().telemetry.metrics.read(),
    reopen: async () => find().telemetry.reopen(),
    reconfigure: async ({ config, hash }) => find().service.reconfigure(config, hash),
  });

  await ended;
  await running?.service.stop();
  await running?.telemetry.close();
}

async function start({ config, hash, worker }: Ask<'start'>): Promise<Running> {
  const telemetry = await openTelemetry({ ...config, worker: String(worker) });
  const service = await createService(config, { telemetry, hasManagement: false }, hash);
  await service.start();
  return { service, telemetry };
}

/** A terminal and a service manager send them to all processes at once. The second one ends this one, too. */
function leaveSignalsToThePrimary(): void {
  process.once('SIGINT', () => undefined);
  process.once('SIGTERM', () => undefined);
  process.on('SIGHUP', () => undefined);
}

/** When nothing is being served yet, the process ends at once: it could not even listen any more. */
async function untilChannelEnds(isServing: () => boolean): Promise<void> {
  const { worker } = cluster;
  if (worker === undefined) throw new TypeError('this process is no worker');
  await new Promise<void>((resolve) => {
    const end = (): void => {
      if (!isServing()) process.exit(0);
      // Or node:cluster ends the process here and now.
      worker.exitedAfterDisconnect = true;
      resolve();
    };
    if (worker.isConnected()) worker.once('disconnect', end);
    else end();
  });
}
