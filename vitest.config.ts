import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';
import { RetriedTests } from './test/retried.ts';

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'suite',
          include: ['test/**/*.test.ts'],
          setupFiles: ['test/built-threads.ts'],
          // Two cores, and half of the time waits for servers and deadlines: six files at once fill the gaps.
          maxWorkers: 6,
          // A process takes one file after the other, with the modules that it has: importing them anew is a sixth of the work.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          // What takes minutes, and what no release should be without.
          name: 'chaos',
          include: ['test/chaos/**/*.chaos.ts'],
          maxWorkers: 1,
          disableConsoleIntercept: true,
        },
      },
    ],
    globalSetup: ['test/setup.ts'],
    reporters: ['default', new RetriedTests()],
    sequence: { sequencer: LongestFirst },
    // No test asserts speed by these: they end one that hangs, also on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
