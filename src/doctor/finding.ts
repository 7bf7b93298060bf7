// What the doctor says: one line for each thing that was looked at. Owns the form; each check has its own file.

/** `skipped`: it could not be looked at from here, and the message says why. */
export type Level = 'ok' | 'warning' | 'problem' | 'skipped';

export type Finding = {
  readonly level: Level;
  /** What was found, by a name that stays: `cookies-stripped`. */
  readonly name: string;
  readonly message: string;
  /** What to do about it. */
  readonly advice?: string;
};

export const ok = (name: string, message: string): Finding => ({ level: 'ok', name, message });

export const skipped = (name: string, message: string): Finding => ({ level: 'skipped', name, message });

export const warning = (name: string, message: string, advice: string): Finding => ({
  level: 'warning',
  name,
  message,
  advice,
});

export const problem = (name: string, message: string, advice: string): Finding => ({
  level: 'problem',
  name,
  message,
  advice,
});

/** What was found, or that all is well. */
export function orOk(findings: readonly Finding[], name: string, message: string): readonly Finding[] {
  return findings.length > 0 ? findings : [ok(name, message)];
}
