// The file's form of what the service tells about itself: the log and the audit trail. Owns keys, defaults and
// descriptions; how lines are made and written is src/telemetry.
import * as z from 'zod';
import { text } from './text.ts';

function auditFault(value: string): string | undefined {
  return /^(stdout|off|file:.+)$/.test(value) ? undefined : 'must be stdout, off or file:PATH';
}

/** The service's log, on standard error. */
export const logSchema = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('What is worth a line. debug has one for each request.'),
  format: z
    .enum(['auto', 'json', 'readable'])
    .default('auto')
    .describe('auto is readable in a terminal and JSON elsewhere.'),
});

export const auditSchema = text(auditFault)
  .default('stdout')
  .describe(
    'Where the audit trail goes, one JSON line for each security event: stdout, file:PATH (opened again at SIGHUP, after logrotate), or off.',
  );
