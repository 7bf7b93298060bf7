// `postern serve`: runs the service until it is told to stop, in this process or in several. Owns signals and what a
// newcomer is told at the start.
import { extname } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { DEMO_CLIENT_SECRET, DEMO_PASSWORD, DEMO_PASSWORD_HASH, DEMO_TRY_PATH } from '../config/demo.ts';
import { secretWarnings } from '../config/secret-expiry.ts';
import { loadInThread } from '../config/load-in-thread.ts';
import { watchConfig } from '../config/watch.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import { findDemo } from '../http/try-out.ts';
import type { Service } from '../service.ts';
import { openTelemetry, type OpenTelemetry } from '../telemetry/telemetry.ts';
import { configOption, readLoaded } from './configuration.ts';
import type { CliIo } from './io.ts';

/** `.ts` where the sources run as they are. */
const LOAD_ENTRY = new URL(`./load-config-entry${extname(import.meta.url)}`, import.meta.url);

export function registerServe(program: Command, io: CliIo): void {
  program
    .command('serve')
    .description('run the service')
    .addOption(configOption())
    .action(async ({ config: file }: { readonly config: string }) => {
      const loaded = await readLoaded(file);
      const { service, telemetry, reopen } = await openService(loaded);
      const { log } = telemetry;
      await service.start();
      // Before this a signal ends the process at once, as it ends any other: nothing has begun, and a start may hang.
      const stopped = untilToldToStop();
      const watch = await watchConfig({
        file,
        current: loaded,
        load: (changed) => loadInThread(LOAD_ENTRY, changed),
        onConfig: ({ config, hash }) => service.reconfigure(config, hash),
        onBroken: (error) => service.refuse(error),
        onUnchanged: () => service.confirm(),
        onError: (error) => log.error({ err: error }, 'the configuration could not be taken over'),
      });
      const reload = () => {
        reopen();
        void watch.reload();
      };
      process.on('SIGHUP', reload);
      for (const { message } of secretWarnings(loaded.config.clients, Date.now() / 1000)) log.warn(message);
      io.stdout.write(welcome(loaded.config));
      await stopped;
      process.off('SIGHUP', reload);
      await watch.stop();
      await service.stop();
      await telemetry.close();
    });
}

type Opened = { readonly service: Service; readonly telemetry: OpenTelemetry; readonly reopen: () => void };

/** Loads only what this process is for: with workers, that is neither the engine nor the store. */
async function openService({ config, hash }: LoadedConfig): Promise<Opened> {
  if (config.workers === 1) {
    const { createService } = await import('../service.ts');
    const telemetry = await openTelemetry(config);
    const service = await createService(config, { telemetry }, hash);
    return { service, telemetry, reopen: () => telemetry.reopen() };
  }
  const { createPrimary, PRIMARY } = await import('../workers/primary.ts');
  const telemetry = await openTelemetry({ ...config, worker: PRIMARY });
  const service = createPrimary(config, hash, telemetry);
  const reopen = () => {
    telemetry.reopen();
    void service.reopen();
  };
  return { service, telemetry, reopen };
}

/** A second signal ends the process the hard way, as everywhere. */
async function untilToldToStop(): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}

function welcome(config: Config): string {
  const { issuer, listen, management, notices, users } = config;
  const lines = [
    'Postern is up.',
    '',
    `  issuer       ${issuer}`,
    `  discovery    ${issuer}${ENDPOINTS.discovery}`,
    `  listening    http://${listen.host}:${listen.port}`,
    `  management   http://${management.host}:${management.port}/readyz`,
  ];
  const demo = findDemo(config);
  if (demo !== undefined) {
    lines.push('', `  demo client  ${demo.client.clientId}  secret ${DEMO_CLIENT_SECRET}`);
    const person = users.find(({ passwordHash }) => passwordHash === DEMO_PASSWORD_HASH);
    if (person !== undefined) lines.push(`  demo person  ${person.username}  password ${DEMO_PASSWORD}`);
    lines.push(`  try it       ${new URL(DEMO_TRY_PATH, demo.callback).href}`);
  }
  if (notices.length > 0) lines.push('', ...notices.map((notice) => `  ${notice}`));
  return `${lines.join('\n')}\n\n`;
}
