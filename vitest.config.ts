import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two cores, and many tests that wait for servers: a third file at once fills the gaps.
    maxWorkers: 3,
  },
});
