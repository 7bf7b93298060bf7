// `postern serve` with several workers: the primary process, and each of its workers.
import type { LoadedConfig } from '../../config/load.ts';
import { exitOnCrash, keepServing, logConsole, type Started, untilStopped } from '../../cli/keep-serving.ts';
import { isMistake, type Log } from '../../observability/log.ts';
import { openTelemetry } from '../../observability/telemetry.ts';
import {
  type Job,
  leaveSignalsToThePrimary,
  receiveJob,
  reportWhenAsked,
  tell,
  untilChannelEnds,
} from './channel.ts';

export async function asWorker(file: string): Promise<void> {
  leaveSignalsToThePrimary();
  let started: Started | undefined;
  const stopped = untilChannelEnds(() => started !== undefined);
  const job = await receiveJob();
  try {
    started = await startAsWorker(job);
  } catch (error) {
    tell({ kind: 'refused', reason: reasonOf(error) }, () => process.exit(1));
    return;
  }
  await keepServing({
    ...started,
    file,
    loaded: job.loaded,
    onUp: () => tell({ kind: 'serving' }),
    onTaken: (loaded) => tell({ kind: 'taken', loaded }),
    stopped,
  });
}

async function startAsWorker({ worker, loaded, started }: Job): Promise<Started> {
  const telemetry = openTelemetry({ ...started, worker: String(worker) });
  logConsole(telemetry.log);
  const { createServer } = await import('../../server/server.ts');
  const server = await createServer({ ...loaded, started }, { telemetry, hasManagement: false });
  reportWhenAsked(async () => ({ status: await server.status(), metrics: await telemetry.metrics.read() }));
  await server.start();
  return { server, telemetry };
}

/** A bug keeps its stack, as in cli/run.ts. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (isMistake(error) ? error.stack : undefined) ?? error.message;
}

export async function asPrimary(loaded: LoadedConfig, onUp: (log: Log) => void): Promise<void> {
  const { createPrimary, PRIMARY } = await import('./primary.ts');
  const telemetry = openTelemetry({ ...loaded.config, worker: PRIMARY });
  const primary = createPrimary(loaded, telemetry);
  await primary.start();
  // The workers drain by themselves.
  exitOnCrash(telemetry.log, async () => void (await telemetry.close()));
  const stopped = untilStopped();
  const reload = () => {
    telemetry.reopen();
    primary.reload();
  };
  process.on('SIGHUP', reload);
  onUp(telemetry.log);
  await stopped;
  process.off('SIGHUP', reload);
  await primary.stop();
  await telemetry.close();
}
