// Slices of each subject in turn, round after round, so that whatever slows the machine slows all of them. Owns medians
// and ratios within a round; knows no subject.
import type { Slice } from './load.ts';

export type Subject = {
  readonly name: string;
  /** Before the first round; a slice of its own when not given. */
  readonly warm?: () => Promise<unknown>;
  readonly slice: (seconds: number) => Promise<Slice>;
};

/** Subject to what its slice found. */
export type Round = ReadonlyMap<string, Slice>;

/** Of all rounds. */
export type Spread = { readonly median: number; readonly least: number; readonly most: number };

export async function measureRounds(
  subjects: readonly Subject[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<readonly Round[]> {
  for (const { warm, slice } of subjects) await (warm ?? (() => slice(Math.min(2, seconds))))();
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const slices = new Map<string, Slice>();
    for (const { name, slice } of subjects) slices.set(name, await slice(seconds));
    measured.push(slices);
  }
  return measured;
}

export function sliceOf(round: Round, name: string): Slice {
  const slice = round.get(name);
  if (slice === undefined) throw new TypeError(`nothing was measured of ${name}`);
  return slice;
}

/** One figure of each round; a ratio is made within a round, never between two. */
export function over(rounds: readonly Round[], figure: (round: Round) => number): Spread {
  return spread(rounds.map(figure));
}

/** `name`'s requests a second, as a multiple of `of`'s. */
export function rateRatio(rounds: readonly Round[], name: string, of: string): Spread {
  return over(rounds, (round) => sliceOf(round, name).perSecond / sliceOf(round, of).perSecond);
}

export function cpuRatio(rounds: readonly Round[], name: string, of: string): Spread {
  return over(rounds, (round) => sliceOf(round, name).cpuMicroseconds / sliceOf(round, of).cpuMicroseconds);
}

export function spread(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return { median: (low + high) / 2, least: sorted[0] ?? low, most: sorted.at(-1) ?? high };
}
