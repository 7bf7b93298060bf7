import { defineConfig } from 'vitest/config';

/** `npm run chaos`: what takes minutes, and what no release should be without. */
export default defineConfig({
  test: {
    // All but the first also run in `npm test`: the attacks with fewer rounds, the flows on one server.
    include: [
      'test/chaos/**/*.chaos.ts',
      'test/attack/pkce-and-codes.test.ts',
      'test/attack/refresh-tokens.test.ts',
      'test/flow/**/*.test.ts',
    ],
    env: { POSTERN_ROUNDS: 'all' },
    globalSetup: ['test/setup.ts'],
    hookTimeout: 60_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
