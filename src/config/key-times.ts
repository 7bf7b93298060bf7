// How long each part of a signing key's life must last so that no live token outlives its key.
import type { Config, Resource } from './config.ts';

/** Some verifiers cache keys for an hour, although we allow less (mod_auth_openidc, AWS API Gateway). */
const VERIFIER_CACHE_SECONDS = 3600;
export const ID_TOKEN_SECONDS = 3600;
/** Three polls of 4 s, and some delay: within this time, every healthy node reads a change. */
export const PROPAGATION_SECONDS = 15;
/** Maximum difference between the clocks of any two nodes. */
export const SKEW_SECONDS = 120;

export type TimingSettings = Pick<Config, 'lifetimes' | 'signingKeys'> & {
  readonly resources: readonly Pick<Resource, 'accessToken'>[];
};

/** In seconds. */
type TimingInput = Readonly<{
  /** The longest lifetime of all audiences. */
  accessToken: number;
  rotateEvery: number;
  /** How long before a planned change the key after the next one is published. */
  publishAhead: number;
}>;

export type Timing = Readonly<ReturnType<typeof toTiming>>;

export function toTimingInput({ lifetimes, resources, signingKeys }: TimingSettings): TimingInput {
  const { rotateEvery, publishAhead } = signingKeys;
  const accessToken = Math.max(lifetimes.accessToken, ...resources.map((one) => one.accessToken ?? 0));
  return { accessToken, rotateEvery, publishAhead };
}

/** The times that follow from a configuration, in seconds; they are only safe when `timingProblems` finds nothing. */
export function toTiming({ accessToken, ...planned }: TimingInput) {
  // C, P and S of docs/keys.md.
  const [cache, propagation, skew] = [VERIFIER_CACHE_SECONDS, PROPAGATION_SECONDS, SKEW_SECONDS];
  /** L: the longest life of a token that these keys sign. */
  const tokenLife = Math.max(accessToken, ID_TOKEN_SECONDS);
  return {
    ...planned,
    cache,
    propagation,
    skew,
    tokenLife,
    /** C + P + S: the least time between a key's publication and its first signature. */
    publishToActivate: cache + propagation + skew,
    /** L + C + S: how long a retired key still verifies. */
    retireToRemove: tokenLife + cache + skew,
  };
}

/** Lists the settings that would break live tokens, one sentence each, with the required sum. Empty if all are safe. */
export function timingProblems(input: TimingInput): string[] {
  const { cache, propagation, skew, tokenLife, publishToActivate, retireToRemove } = toTiming(input);
  const problems: string[] = [];
  if (input.publishAhead < publishToActivate) {
    problems.push(
      `publish_ahead is ${input.publishAhead}s, so a key would sign before all verifiers know it: use at least ` +
        `${publishToActivate}s = ${cache}s verifier cache + ${propagation}s propagation + ${skew}s clock skew`,
    );
  }
  const shortest = input.publishAhead + retireToRemove;
  if (input.rotateEvery <= shortest) {
    problems.push(
      `rotate_every is ${input.rotateEvery}s, so a key would be removed before its tokens expire: use more ` +
        `than ${shortest}s = ${input.publishAhead}s publish_ahead + ${tokenLife}s longest token + ${cache}s verifier cache + ${skew}s clock skew`,
    );
  }
  return problems;
}
