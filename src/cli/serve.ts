// `postern serve`: runs the service until a signal ends it, in this process or in several.
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { secretWarnings } from '../config/secret-expiry.ts';
import { loadInThread } from '../config/load-in-thread.ts';
import { watchConfig } from '../config/watch.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { type LoadedConfig, loadConfigWithSources } from '../config/load.ts';
import { beginningOf } from '../http/home.ts';
import { exitOnCrash } from '../server/crash.ts';
import type { Server } from '../server/server.ts';
import { isMistake, type Log } from '../observability/log.ts';
import { auditFileOf, openTelemetry, type OpenTelemetry } from '../observability/telemetry.ts';
import {
  type Job,
  leaveSignalsToThePrimary,
  receiveJob,
  reportWhenAsked,
  tell,
  untilChannelEnds,
} from '../server/worker.ts';
import { configOption } from './configuration.ts';
import type { CliIo } from './io.ts';

export function registerServe(program: Command, io: CliIo): void {
  program
    .command('serve')
    .description('run the service')
    .addOption(configOption())
    .action(async ({ config: file }: { readonly config: string }) => {
      if (cluster.isWorker) return serveAsWorker(file);
      const loaded = await loadConfigWithSources(file);
      const onUp = (log: Log): void => {
        for (const warning of secretWarnings(loaded.config.clients, Date.now() / 1000)) log.warn(warning);
        io.stdout.write(welcome(loaded.config));
      };
      if (loaded.config.workers === 1) await serveAlone(file, loaded, onUp);
      else await serveWithWorkers(loaded, onUp);
    });
}

async function serveAlone(file: string, loaded: LoadedConfig, onUp: (log: Log) => void): Promise<void> {
  const telemetry = openTelemetry(loaded.config);
  logConsole(telemetry.log);
  const { createServer } = await import('../server/server.ts');
  const server = await createServer(loaded, { telemetry });
  await server.start();
  // Until here a signal ends the process at once, because a start may hang and nothing has to be finished.
  const stopped = untilStopped();
  await keepServing({ file, loaded, server, telemetry, onUp: () => onUp(telemetry.log), stopped });
}

/** A worker; the primary sends what it starts with, and stops it. */
async function serveAsWorker(file: string): Promise<void> {
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
  const { createServer } = await import('../server/server.ts');
  const server = await createServer({ ...loaded, started }, { telemetry, hasManagement: false });
  reportWhenAsked(async () => ({ status: await server.status(), metrics: await telemetry.metrics.read() }));
  await server.start();
  return { server, telemetry };
}

/** lmdb prints each commit that fails, and has no option for where: that is a line of JSON like all others. */
function logConsole(log: Log): void {
  function error(...said: readonly unknown[]): void {
    const err = said.find((one) => one instanceof Error);
    // LMDB's own C code has printed "Write error: …" without a newline; the next line must not begin behind it.
    process.stderr.write('\n');
    log.warn({ err, said: said.filter((one) => one !== err).map(String) }, 'a package reported an error');
  }
  Object.assign(console, { error });
}

/** A bug keeps its stack, as in run.ts. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (isMistake(error) ? error.stack : undefined) ?? error.message;
}

type Started = { readonly server: Server; readonly telemetry: OpenTelemetry };

type KeepServingParts = Started & {
  readonly file: string;
  readonly loaded: LoadedConfig;
  readonly onUp: () => void;
  /** The service runs another configuration now. */
  readonly onTaken?: (loaded: LoadedConfig) => void;
  readonly stopped: Promise<void>;
};

/** Reloads the configuration of a started server when its files change, and stops the server gracefully. */
async function keepServing(parts: KeepServingParts): Promise<void> {
  const { file, loaded, server, telemetry, onUp, onTaken, stopped } = parts;
  exitOnCrash(telemetry.log, async () => {
    await server.abandon();
    await telemetry.close();
  });
  let known = loaded.config.notices;
  const watch = await watchConfig({
    file,
    current: loaded,
    load: loadInThread,
    async onConfig(changed) {
      await server.replace({ config: changed.config, hash: changed.hash });
      for (const notice of changed.config.notices) if (!known.includes(notice)) telemetry.log.warn(notice);
      known = changed.config.notices;
      onTaken?.(changed);
    },
    onBroken: server.refuse,
    onUnchanged: server.confirm,
    onError: server.refuse,
  });
  const reload = () => {
    telemetry.reopen();
    void watch.reload();
  };
  process.on('SIGHUP', reload);
  onUp();
  await stopped;
  process.off('SIGHUP', reload);
  await watch.stop();
  await server.stop();
  await telemetry.close();
}

/** The primary process: it loads neither the engine nor the store. */
async function serveWithWorkers(loaded: LoadedConfig, onUp: (log: Log) => void): Promise<void> {
  const { createPrimary, PRIMARY } = await import('../server/cluster.ts');
  const telemetry = openTelemetry({ ...loaded.config, worker: PRIMARY });
  const primary = createPrimary(loaded, telemetry);
  await primary.start();
  // Its workers drain by themselves.
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

/** A second signal ends the process at once. */
async function untilStopped(): Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;
  await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name, { signal })));
  stopped.abort();
}

function welcome(config: Config): string {
  const { issuer, listen, management, notices } = config;
  const lines = [
    'Postern is running.',
    '',
    `  issuer       ${issuer}`,
    `  discovery    ${issuer}${ENDPOINTS.discovery}`,
    `  listening    http://${listen.host}:${listen.port}`,
    `  management   http://${management.host}:${management.port}/readyz`,
  ];
  const trail = config.audit.to === 'auto' ? auditFileOf(config.audit) : undefined;
  if (trail !== undefined) lines.push(`  audit trail  ${trail}`);
  const begin = beginningOf(config);
  if (begin) lines.push('', ...begin.facts.map((fact) => `  ${fact}`));
  if (notices.length > 0) lines.push('', ...notices.map((notice) => `  ${notice}`));
  return `${lines.join('\n')}\n\n`;
}
