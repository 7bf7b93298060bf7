import { defineConfig } from 'vitest/config';

/** `npm run chaos`: what takes minutes, and what no release should be without. */
export default defineConfig({
  test: {
    include: ['test/chaos/**/*.chaos.ts'],
    globalSetup: ['test/setup.ts'],
    hookTimeout: 60_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
