// The measurements of a part of the benchmark, and their targets.
import {
  figure,
  type Measured,
  ratio,
  ratioBeside,
  type Round,
  spread,
  type Spread,
  type Subject,
} from './measure.ts';
import type { Stage } from './service.ts';

export type Target = {
  readonly what: string;
  readonly goal: number;
  readonly stretch?: number;
  readonly isRate?: boolean;
  readonly of: (round: Round) => number;
  /** Which round decides; by default the median. */
  readonly by?: 'most' | 'least';
};
export type Chart = {
  readonly title: string;
  readonly x: string;
  readonly curves: readonly {
    readonly name: string;
    readonly points: readonly (readonly [number, string])[];
  }[];
};
export type Section = (stage: Stage) => Promise<{
  readonly subjects: readonly Subject[];
  readonly targets: readonly Target[];
  readonly chart?: Chart;
}>;

/** A stored verdict: has the figures of each round, so that anyone can recompute it. */
export type Verdict = {
  readonly what: string;
  readonly goal: string;
  readonly stretch: string;
  readonly found: Spread;
  readonly isMet: boolean;
  /** The target lies between the quartiles: another run may decide otherwise. */
  readonly isOnTheLine: boolean;
  readonly rounds: readonly number[];
  /** Written by hand into results.json. It belongs to this figure, and is removed when the figure is measured again. */
  readonly reason?: string;
};

export function judge({ rounds }: Measured, target: Target): Verdict {
  const all = rounds.map(target.of);
  const sign = target.isRate === true ? '≥' : '≤';
  const { median, ...rest } = spread(all);
  const decides = { most: Math.max(...all), least: Math.min(...all), median }[target.by ?? 'median'];
  return {
    what: target.what,
    goal: `${sign} ${target.goal}`,
    stretch: target.stretch === undefined ? '' : `${sign} ${target.stretch}`,
    found: { ...rest, median: decides },
    isMet: target.isRate === true ? decides >= target.goal : decides <= target.goal,
    isOnTheLine: rest.low < target.goal && target.goal < rest.high,
    rounds: all.map((one) => Number(one.toPrecision(4))),
  };
}

/** Goal and stretch goal. */
type Goals = readonly [number, number?];
const wish = ([goal, stretch]: Goals) => ({ goal, ...(stretch !== undefined && { stretch }) });

export const cpuAtMost = (what: string, subject: string, to: string, goals: Goals): Target => ({
  what,
  ...wish(goals),
  of: ratio('cpu', subject, to),
});

export const rateAtLeast = (what: string, subject: string, to: string, goals: Goals): Target => ({
  what,
  ...wish(goals),
  isRate: true,
  of: ratio('rate', subject, to),
});

/** CPU without the password hash and, where `signature` names raw signatures, without two of them. */
export const restAtMost = (
  what: string,
  [subject, to, signature]: readonly [string, string, string?],
  goals: Goals,
): Target => ({ what, ...wish(goals), of: ratioBeside(subject, to, signature) });

export const figureAtMost = (what: string, subject: string, name: string, goals: Goals): Target => ({
  what,
  ...wish(goals),
  of: figure(subject, name),
});
