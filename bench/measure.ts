// Slices of each subject in turn, round after round, so that whatever slows the machine slows all of them; medians and quartiles of
// figures and of ratios within a round; and whether anything else was at work on the machine.
import { availableParallelism } from 'node:os';
import { existsSync, readFileSync } from 'node:fs';
import { cpuSeconds, machineSeconds } from './processes.ts';

/** `cpu` in µs a request, `rate` a second, times in ms. */
export type Figures = Readonly<Record<string, number>>;
export type Subject = { readonly name: string; readonly slice: (seconds: number) => Promise<Figures> };
/** The figures of a subject in one round. */
export type Round = (subject: string) => Figures;
export type Spread = { readonly low: number; readonly median: number; readonly high: number };
export type Measured = {
  readonly rounds: readonly Round[];
  /** Rounds in which other processes used the machine. They are measured again, at most as many times as there are rounds. */
  readonly spoilt: number;
  readonly isQuiet: boolean;
};
export type Pace = { readonly rounds: number; readonly seconds: number; readonly warmSeconds: number };

/** The share of the machine's CPU in a round that other processes may use. */
const FOREIGN_SHARE = 0.05;
const WARM_WITHIN = 0.03;

export async function measure(subjects: readonly Subject[], pace: Pace): Promise<Measured> {
  for (const subject of subjects) await warm(subject, pace);
  const all: { readonly round: Round; readonly isQuiet: boolean }[] = [];
  const quiet = () => all.filter(({ isQuiet }) => isQuiet);
  while (quiet().length < pace.rounds && all.length < 2 * pace.rounds) {
    const figures = new Map<string, Figures>();
    const foreign = foreignShare();
    // Back and forth, so that the subject before each one varies.
    for (const { name, slice } of all.length % 2 === 0 ? subjects : subjects.toReversed()) {
      figures.set(name, await slice(pace.seconds));
    }
    const round = (name: string) => figures.get(name) ?? {};
    all.push({ round, isQuiet: foreign() < FOREIGN_SHARE });
  }
  const isQuiet = quiet().length >= pace.rounds;
  const rounds = (isQuiet ? quiet() : all).map(({ round }) => round);
  return { rounds, spoilt: all.length - quiet().length, isQuiet };
}

/** Warms a subject up until two slices in a row cost the same. A subject without CPU of its own gets one slice. */
async function warm({ slice }: Subject, { seconds, warmSeconds }: Pace): Promise<void> {
  const end = performance.now() + warmSeconds * 1000;
  let last = (await slice(seconds))['cpu'];
  while (last !== undefined && performance.now() < end) {
    const { cpu = 0 } = await slice(seconds);
    if (Math.abs(cpu / last - 1) < WARM_WITHIN) return;
    last = cpu;
  }
}

/** Measures from now on. This process started everything that is measured; kernel threads write to the disk for it. */
function foreignShare(): () => number {
  // A container doesn't show kernel threads.
  const stat = '/proc/2/stat';
  const kernel = existsSync(stat) && readFileSync(stat, 'utf8').includes('(kthreadd)') ? [2] : [];
  const foreign = () =>
    [process.pid, ...kernel].reduce((rest, pid) => rest - cpuSeconds(pid), machineSeconds());
  const [before, startedAt] = [foreign(), performance.now()];
  return () => ((foreign() - before) * 1000) / ((performance.now() - startedAt) * availableParallelism());
}

export function spread(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (share: number) => {
    const place = (sorted.length - 1) * share;
    const [low = Number.NaN, high = low] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
    return low + (high - low) * (place - Math.floor(place));
  };
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}

type OfRound = (round: Round) => number;

export const figure =
  (subject: string, name: string): OfRound =>
  (round) =>
    round(subject)[name] ?? Number.NaN;

/** One subject's figure as a multiple of another's in the same round. */
export const ratio =
  (name: string, subject: string, to: string): OfRound =>
  (round) =>
    figure(subject, name)(round) / figure(to, name)(round);

/** Like `ratio` for CPU, without the cost of the password hash and of `count` signatures (subject `signature`) in that round. */
export const ratioBeside =
  (subject: string, to: string, signature?: string, count = 2): OfRound =>
  (round) => {
    const own = signature === undefined ? 0 : count * figure(signature, 'cpu')(round);
    const rest = (name: string) => {
      const { cpu = Number.NaN, hash = 0 } = round(name);
      return cpu - hash - own;
    };
    return rest(subject) / rest(to);
  };
