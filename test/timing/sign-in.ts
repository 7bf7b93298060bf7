// LG-19: does a refused sign-in take as long for who exists, in the file or in the store, as for who doesn't? Statistics over real requests, so it is a
// script (`npm run timing`) and not a test: on a busy machine it would give wrong results.
import { hashPassword } from '../../src/users/passwords.ts';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { begin } from '../world/person.ts';
import { startWorld } from '../world/world.ts';

const SAMPLES = 300;
/** The limits in cases.md: not distinguishable by Mann-Whitney, or medians within 5 %. */
const MIN_P = 0.01;
const MAX_DIFFERENCE = 0.05;

const world = await startWorld({
  // Everything is counted as usual, but nothing is refused: all attempts reach the comparison.
  config: { rate_limits: { sign_in: '1000000/1m', authorization: '1000000/1m' } },
});
await createStoredUsers(world.openedStore).add({
  id: 'usr_carol00000000000000003',
  username: 'carol',
  passwordHash: await hashPassword('river otter jazz 47'),
  claims: { email: 'carol@example.com' },
});
const { browser, page } = await begin(world);

async function measure(username: string): Promise<number> {
  const began = performance.now();
  const { status } = await browser.submit(page, '/login', { username, password: 'wrong-password-12' });
  if (status !== 401) throw new Error(`${username}: ${status}`);
  return performance.now() - began;
}

const known: number[] = [];
const stored: number[] = [];
const unknown: number[] = [];
for (let warm = 0; warm < 20; warm += 1) await measure('alice');
for (let sample = 0; sample < SAMPLES; sample += 1) {
  // Alternating, and in either order: any drift affects both.
  const three = [
    () => measure('alice').then((ms) => known.push(ms)),
    () => measure('mallo').then((ms) => unknown.push(ms)),
    () => measure('carol').then((ms) => stored.push(ms)),
  ];
  for (const one of sample % 2 === 0 ? three : three.toReversed()) await one();
}
await world.stop();

const results = [compare('file', known), compare('store', stored)];
process.exitCode = results.every((isEqual) => isEqual) ? 0 : 1;

function compare(source: string, samples: readonly number[]): boolean {
  const [a, b] = [median(samples), median(unknown)];
  const p = mannWhitney(samples, unknown);
  const difference = Math.abs(a - b) / b;
  const isEqual = p > MIN_P || difference < MAX_DIFFERENCE;
  process.stdout.write(
    `known (${source}) ${a.toFixed(2)} ms, unknown ${b.toFixed(2)} ms (medians of ${SAMPLES}), ` +
      `difference ${(difference * 100).toFixed(1)} %, p = ${p.toFixed(3)}: ${isEqual ? 'equal' : 'NOT equal'}\n`,
  );
  return isEqual;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Two-sided p by the normal approximation, which is exact enough from a few dozen samples. */
function mannWhitney(left: readonly number[], right: readonly number[]): number {
  const all = [...left.map((ms) => ({ ms, isLeft: true })), ...right.map((ms) => ({ ms, isLeft: false }))];
  const ranks = all.toSorted((one, other) => one.ms - other.ms);
  const rankSum = ranks.reduce((sum, { isLeft }, index) => sum + (isLeft ? index + 1 : 0), 0);
  const [n, m] = [left.length, right.length];
  const u = rankSum - (n * (n + 1)) / 2;
  const z = (u - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
  return 2 * (1 - phi(Math.abs(z)));
}

/** Standard normal distribution, Abramowitz and Stegun 26.2.17. */
function phi(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  const series = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  return 1 - density * series.reduceRight((sum, factor) => (sum + factor) * t, 0);
}
