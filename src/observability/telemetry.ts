// Log, audit trail and metrics of one process, opened and closed together; where each is written, and in which format.
import type { Audit } from './audit.ts';
import { Lines, type Writer } from './lines.ts';
import { createLog, type Log, type LogLevel } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';

export type Telemetry = Readonly<{ log: Log; audit: Audit; metrics: Metrics }>;

export type OpenTelemetry = ReturnType<typeof openTelemetry>;

export type TelemetrySettings = Readonly<{
  log: { readonly level: LogLevel };
  audit:
    | { readonly to: 'stdout' | 'off' }
    | Readonly<{ to: 'file'; file: string }>
    /** stdout, or in a terminal `file`, if there is a data folder for it. */
    | Readonly<{ to: 'auto'; file: string | undefined }>;
  /** Which of several processes this is. */
  worker?: string | undefined;
}>;

const STDOUT = 1;
const STDERR = 2;
const NOWHERE: Writer = { write: () => undefined };

/** Throws when the audit file can't be opened. */
export function openTelemetry({ log, audit, worker }: TelemetrySettings) {
  const metrics = createMetrics();
  const logLines = new Lines(STDERR);
  const processLog = createLog(log.level, logLines, worker);
  const auditFile = auditFileOf(audit);
  const onFailed = (error: Error) =>
    processLog.error({ err: error }, "the audit trail can't be written: records are buffered in memory");
  const auditLines = audit.to === 'off' ? undefined : new Lines(auditFile ?? STDOUT, onFailed);
  metrics.describe(() => [
    ['lines_waiting_bytes', logLines.waitingBytes, { to: 'log' }],
    ['lines_waiting_bytes', auditLines?.waitingBytes ?? 0, { to: 'audit' }],
  ]);

  return {
    ...combine({ log: processLog, audit: auditLines ?? NOWHERE, metrics, worker }),
    /** Reopens the audit file by its name, after logrotate. If that fails, the log says so and the old one stays in use. */
    reopen() {
      try {
        auditLines?.reopen();
      } catch (error) {
        processLog.error({ err: error }, 'the audit file could not be reopened: the old one stays in use');
      }
    },
    /** Resolves when all lines are written, or after a second. False: some audit records are lost. */
    async close() {
      const isWritten = (await auditLines?.close()) ?? true;
      if (!isWritten) processLog.error('audit records could not be written and are lost');
      await logLines.close();
      return isWritten;
    },
  };
}

/** Returns undefined where the trail goes to stdout, or nowhere. */
export function auditFileOf(audit: TelemetrySettings['audit']): string | undefined {
  if (audit.to === 'file') return audit.file;
  // In a terminal, audit records between the log lines would distract a reader.
  return audit.to === 'auto' && process.stdout.isTTY ? audit.file : undefined;
}

/** Creates telemetry that goes where the caller says, for a service inside another process. */
export function combine(parts: {
  readonly log: Log;
  readonly audit: Writer;
  readonly metrics?: Metrics;
  readonly worker?: string | undefined;
  readonly now?: () => number;
}): Telemetry {
  const { log, audit, metrics = createMetrics(), worker, now = Date.now } = parts;
  return {
    log,
    metrics,
    audit: {
      record(event, outcome, fields) {
        metrics.count('security_events', { event, outcome });
        const { grant_type: grantType } = fields;
        if (event === 'token_issued' && outcome === 'success' && grantType !== undefined)
          metrics.count('tokens_issued', { grant_type: grantType });
        const time = new Date(now()).toISOString();
        // Members that are undefined are left out.
        audit.write(`${JSON.stringify({ time, event, outcome, ...fields, worker })}\n`);
      },
    },
  };
}

export const silentTelemetry = (): Telemetry =>
  combine({ log: createLog('silent', NOWHERE), audit: NOWHERE });
