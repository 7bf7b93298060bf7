import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup.ts'],
    // No test asserts speed by these: they end one that hangs, also on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores, and many tests that wait for servers: a third file at once fills the gaps.
    maxWorkers: 3,
  },
});
