// Whether a node may be sent requests, as far as its signing keys are concerned. Owns the words and the time that a node
// has to catch up; the rotation job knows how far it has come.
import type { RotationStatus } from './rotation.ts';
import { PROPAGATION_SECONDS } from './timing.ts';

/** One line each; empty when this node is up to date. `now` in epoch milliseconds. */
export function keyProblems(status: RotationStatus, now: number): readonly string[] {
  const { generation, storedGeneration, readAt, confirmedAt, maySign, problem } = status;
  const problems = problem === undefined ? [] : [`the stored keys can not be used: ${problem}`];
  if (isOverdue(readAt, now)) {
    problems.push(`the key ring could not be read for ${secondsSince(readAt, now)} s`);
  }
  if (generation !== storedGeneration && isOverdue(confirmedAt, now)) {
    problems.push(
      `this node serves generation ${generation} of the key ring, the store has ${storedGeneration}`,
    );
  }
  if (!maySign) problems.push('this node signs nothing until its keys are confirmed again');
  return problems;
}

function isOverdue(since: number, now: number): boolean {
  return secondsSince(since, now) > PROPAGATION_SECONDS;
}

function secondsSince(since: number, now: number): number {
  return Math.floor((now - since) / 1000);
}
