// The service's log: JSON lines, with one redaction list. No caller passes a request or a form to it.
import { type Logger, pino } from 'pino';
import type { Writer } from './lines.ts';

export type Log = Logger;
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Never written, at the top level of a line or one below. Callers must not pass them in the first place. */
const REDACTED = [
  'authorization',
  'cookie',
  'client_secret',
  'code',
  'code_verifier',
  'token',
  'access_token',
  'refresh_token',
  'id_token',
  'id_token_hint',
  'password',
];

/** `worker` names the process, where there are several. */
export function createLog(level: LogLevel, lines: Writer, worker?: string): Log {
  return pino(
    {
      name: 'postern',
      level,
      base: worker === undefined ? {} : { worker },
      timestamp: pino.stdTimeFunctions.isoTime,
      // `err.code` is the error's own code (ECONNREFUSED), not an authorization code.
      redact: REDACTED.flatMap((member) => (member === 'code' ? [member] : [member, `*.${member}`])),
    },
    lines,
  );
}

/** Cuts a text to `length` and replaces control and direction characters: text from outside can't forge or flood a line (CWE-117). */
export function clip(text: string, length = 200): string {
  // \p{Cc}: control; \p{Cf}: direction and other invisible ones; \p{Zl}, \p{Zp}: line and paragraph separators.
  return text.slice(0, length).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError];

export const isMistake = (error: Error) => MISTAKES.some((mistake) => error instanceof mistake);
