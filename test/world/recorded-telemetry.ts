// What a service of the tests says of itself: log and audit trail at the finest level, kept in memory. Every world that
// stops is searched for secrets (IN-08), so that each flow of the whole suite is a canary.
import { createLog } from '../../src/observability/log.ts';
import { combine, type Telemetry } from '../../src/observability/telemetry.ts';

export type AuditRecord = Readonly<Record<string, unknown>> & {
  readonly time: string;
  readonly event: string;
  readonly outcome: string;
};

export type Recorded = {
  readonly telemetry: Telemetry;
  /** Lines of the log, as they were written. */
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
    // The finest level, also of what is never on in production.
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

/** Ids that are as long and as random as a credential, and are none. */
const NO_CREDENTIALS = new Set(['token_id', 'kid', 'published', 'configuration', 'hash', 'keys', 'file']);
/** As long and as random as a credential, and no secret: a person's id, a key of the store, and the folders that tests make. */
const NO_SECRET = /usr_[\w-]{22}(?![\w-])|postern:[\w:{}-]+|\/postern-[a-z-]+-\w{6}(?=[/"])/g;
/** Codes, refresh tokens, session ids, CSRF tokens: 21 characters and more of base64url, with some of each kind. */
const RANDOM_TEXT = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{21,}(?![\w-])/;
const JWT = /eyJ[\w-]{8,}\.[\w-]{8,}/;

/** What looks like a credential in `lines`, or is one of `secrets`; empty when all is well. */
export function findSecrets(lines: readonly string[], secrets: readonly string[]): string[] {
  return lines.flatMap((line) => {
    const isKnown = secrets.some((secret) => line.includes(secret));
    const rest = JSON.stringify(JSON.parse(line), (name, value: unknown) =>
      NO_CREDENTIALS.has(name) ? undefined : value,
    ).replaceAll(NO_SECRET, '');
    return isKnown || JWT.test(rest) || RANDOM_TEXT.test(rest) ? [line] : [];
  });
}

/** Throws when the log or the audit trail holds a secret. */
export function assertNoSecrets({ log, auditLines }: Recorded, secrets: readonly string[]): void {
  const found = findSecrets([...log, ...auditLines], secrets);
  if (found.length > 0) throw new Error(`IN-08: secrets were recorded:\n${found.slice(0, 5).join('')}`);
}
