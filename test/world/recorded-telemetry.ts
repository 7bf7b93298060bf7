// The log and audit trail of a service under test, at the finest level and kept in memory. Every world that stops is
// searched for secrets (IN-08), so each flow of the suite is also a test for leaks.
import { createLog } from '../../src/observability/log.ts';
import { combine, type Telemetry } from '../../src/observability/telemetry.ts';

export type AuditRecord = Readonly<Record<string, unknown>> & {
  readonly time: string;
  readonly event: string;
  readonly outcome: string;
};

export type Recorded = {
  readonly telemetry: Telemetry;
  /** Lines of the log, as written. */
  readonly log: string[];
  readonly auditLines: string[];
  /** The audit trail, oldest first. */
  audit(event?: string): AuditRecord[];
};

export function listen(): Recorded {
  const log: string[] = [];
  const auditLines: string[] = [];
  const keep = (lines: string[]) => ({ write: (line: string) => void lines.push(line) });
  return {
    // The finest level, including lines that are never on in production.
    telemetry: combine({
      log: createLog('trace', keep(log)),
      audit: keep(auditLines),
      now: () => Date.now(),
    }),
    log,
    auditLines,
    audit: (event) =>
      auditLines
        .map((line) => JSON.parse(line) as AuditRecord)
        .filter((record) => event === undefined || record.event === event),
  };
}

/** Ids that are as long and random as a credential, but aren't one. */
const NO_CREDENTIALS = new Set(['token_id', 'kid', 'published', 'configuration', 'hash', 'keys', 'file']);
/** Texts that are as long and random as a credential, but not secret: ids of users, keys of the store, and the tests' folders. */
const NO_SECRET = /usr_[\w-]{22}(?![\w-])|postern:[\w:{}-]+|\/postern-[a-z-]+-\w{6}(?=[/"])/g;
/** Codes, refresh tokens, session ids, CSRF tokens: 21 or more characters of base64url with digits, lower case and upper case. */
const RANDOM_TEXT = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{21,}(?![\w-])/;
const JWT = /eyJ[\w-]{8,}\.[\w-]{8,}/;

/** The texts in `lines` that look like a credential or are one of `secrets`; empty if there are none. */
export function findSecrets(lines: readonly string[], secrets: readonly string[]): string[] {
  return lines.flatMap((line) => {
    const isKnown = secrets.some((secret) => line.includes(secret));
    const rest = JSON.stringify(JSON.parse(line), (name, value: unknown) =>
      NO_CREDENTIALS.has(name) ? undefined : value,
    ).replaceAll(NO_SECRET, '');
    return isKnown || JWT.test(rest) || RANDOM_TEXT.test(rest) ? [line] : [];
  });
}

/** Throws if the log or the audit trail contains a secret. */
export function assertNoSecrets({ log, auditLines }: Recorded, secrets: readonly string[]): void {
  const found = findSecrets([...log, ...auditLines], secrets);
  if (found.length > 0) throw new Error(`IN-08: secrets were recorded:\n${found.slice(0, 5).join('')}`);
}
