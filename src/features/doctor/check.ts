// Runs one check of `postern doctor` and collects its results.
import type { Config } from '../../config/config.ts';
import { type Ask, Unanswered } from './ask.ts';
import { FAULTS, type FaultName } from './faults.ts';

/** `skipped`: it can't be checked from here, for the reason in the message. */
export type Level = 'ok' | 'warning' | 'problem' | 'skipped';

export type Result = Readonly<{ level: Level; name: string; message: string; advice?: string }>;

/** The service, as it is reached through its public address. */
export type Target = Readonly<{
  /** The issuer that the service must have. */
  issuer: string;
  /** The URL that requests go to: the issuer unless `--url` is given. */
  at: string;
  /** Undefined if it isn't known or can't be read. */
  config: Config | undefined;
  ask: Ask;
  /** Epoch milliseconds. */
  now: () => number;
}>;

/** `level`: if it differs from the fault's own. */
export type ReportFault = (fault: FaultName, message: string, level?: Level) => undefined;

/** Reports each fault, and returns the message for when there is none; undefined if nothing was checked. */
export type Check = (target: Target, report: ReportFault) => Promise<string | undefined>;

/** Thrown by a check that can't be made or finished from here. */
export class Skipped extends Error {}

export async function runCheck(
  name: string,
  check: (report: ReportFault) => Promise<string | undefined>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const report: ReportFault = (fault, message, level = FAULTS[fault].level) => {
    results.push({ level, name: fault, message, advice: FAULTS[fault].advice });
  };
  try {
    const message = await check(report);
    if (results.length === 0 && message !== undefined) results.push({ level: 'ok', name, message });
  } catch (error) {
    if (error instanceof Skipped) results.push({ level: 'skipped', name, message: error.message });
    else if (error instanceof Unanswered) report('no-answer', error.message);
    else throw error;
  }
  return results;
}
