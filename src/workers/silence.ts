// When a process is given up that runs and answers nothing any more: connections dealt to it would wait for ever. Owns the
// patience only; what is asked, and what happens then, is said by whoever watches.
import { setTimeout as delay } from 'node:timers/promises';

export type SilenceParts = {
  /** Whether an answer came within so long. Asks for nothing that depends on a store or a network. */
  readonly answers: (withinMs: number) => Promise<boolean>;
  readonly onSilent: () => void;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly roundMs?: number;
  /** Silent ones in a row. Rounds and not a time: a machine that slept for an hour has cost each process one of them. */
  readonly rounds?: number;
};

/** Resolves when the watch ended or `onSilent` was called. */
export async function watchSilence(parts: SilenceParts): Promise<void> {
  const { answers, onSilent, signal, roundMs = 5000, rounds = 3 } = parts;
  let silent = 0;
  while (!signal.aborted) {
    const answered = await answers(roundMs);
    if (signal.aborted) return;
    silent = answered ? 0 : silent + 1;
    if (silent === rounds) return onSilent();
    if (answered) await delay(roundMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
