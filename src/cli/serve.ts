// `postern serve`: runs the service until a signal stops it.
import cluster from 'node:cluster';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { secretWarnings } from '../config/secret-expiry.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { type LoadedConfig, loadConfigWithSources } from '../config/load.ts';
import { SERVING, servingOf } from '../features/commands.ts';
import { beginningOf } from '../http/home.ts';
import type { Log } from '../observability/log.ts';
import { auditFileOf, openTelemetry } from '../observability/telemetry.ts';
import { configOption } from './configuration.ts';
import type { CliIo } from './io.ts';
import { keepServing, logConsole, untilStopped } from './keep-serving.ts';

export function registerServe(program: Command, io: CliIo): void {
  program
    .command('serve')
    .description('run the service')
    .addOption(configOption())
    .action(async ({ config: file }: { readonly config: string }) => {
      const [worker] = cluster.isWorker ? Object.values(SERVING) : [];
      if (worker !== undefined) return (await worker()).asWorker(file);
      const loaded = await loadConfigWithSources(file);
      const onUp = (log: Log): void => {
        for (const warning of secretWarnings(loaded.config.clients, Date.now() / 1000)) log.warn(warning);
        io.stdout.write(welcome(loaded.config));
      };
      const several = servingOf(loaded.config);
      if (several === undefined) return serveAlone(file, loaded, onUp);
      return (await several()).asPrimary(loaded, onUp);
    });
}

async function serveAlone(file: string, loaded: LoadedConfig, onUp: (log: Log) => void): Promise<void> {
  const telemetry = openTelemetry(loaded.config);
  logConsole(telemetry.log);
  const { createServer } = await import('../server/server.ts');
  const server = await createServer(loaded, { telemetry });
  await server.start();
  // Until here a signal ends the process at once, because a start may hang and there is nothing to finish.
  const stopped = untilStopped();
  await keepServing({ file, loaded, server, telemetry, onUp: () => onUp(telemetry.log), stopped });
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
