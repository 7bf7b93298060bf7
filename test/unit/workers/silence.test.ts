// How long a process that runs may say nothing, with rounds of a few milliseconds.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { watchSilence } from '../../../src/workers/silence.ts';

/** What it answers, round by round; then the watch is ended. Resolves how often it was asked and given up. */
async function watch(script: readonly boolean[]) {
  const end = new AbortController();
  let asked = 0;
  let givenUp = 0;
  await watchSilence({
    roundMs: 1,
    signal: end.signal,
    onSilent: () => (givenUp += 1),
    async answers(withinMs) {
      const answer = script[asked];
      asked += 1;
      if (answer !== true) await delay(withinMs);
      if (asked > script.length) end.abort();
      return answer ?? false;
    },
  });
  return { asked, givenUp };
}

it('RD-30: a worker that is silent for three rounds in a row is given up, once', async () => {
  expect(await watch([true, false, false, false, true])).toEqual({ asked: 4, givenUp: 1 });
});

it('RD-30: a worker that was silent for a while, or has ended, is not', async () => {
  expect(await watch([false, false, true, false, false, true])).toEqual({ asked: 7, givenUp: 0 });
  expect(await watch([false, false])).toEqual({ asked: 3, givenUp: 0 });
});
