// How a check of `postern doctor` is made: what it may ask, and how it says what it found.
import type { Config } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { Unanswered, type Answer, type Ask, type AskOptions } from './ask.ts';
import { FAULTS, type FaultName } from './faults.ts';

/** `skipped`: it could not be looked at from here, and the message says why. */
export type Level = 'ok' | 'warning' | 'problem' | 'skipped';

export type Result = {
  readonly level: Level;
  readonly name: string;
  readonly message: string;
  readonly advice?: string;
};

/** The service, as it is reached through its public address. */
export type Target = {
  /** What the service must call itself. */
  readonly issuer: string;
  /** Where it is asked; the issuer, unless `--url` says otherwise. */
  readonly at: string;
  /** Undefined where it isn't known or can't be read. */
  readonly config: Config | undefined;
  readonly ask: Ask;
  /** Epoch milliseconds. */
  readonly now: () => number;
};

/** `level`, where it isn't the usual one of that fault. */
export type ReportFault = (fault: FaultName, message: string, level?: Level) => undefined;

/** Reports each fault, and returns what to say where there is none; undefined where nothing was looked at. */
export type Check = (target: Target, report: ReportFault) => Promise<string | undefined>;

/** Thrown by a check that can't be made, or not be finished, from here. */
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

/** Asks one endpoint through the public address. */
export function askEndpoint(
  { at, ask }: Target,
  endpoint: keyof typeof ENDPOINTS,
  options?: AskOptions,
): Promise<Answer> {
  return ask(`${at}${ENDPOINTS[endpoint]}`, options);
}
