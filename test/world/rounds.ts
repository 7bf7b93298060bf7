/** Set by `npm run chaos:flows`: all rounds of the tests that depend on chance, on a Redis Cluster. */
export const IS_LONG_RUN = process.env['POSTERN_ROUNDS'] === 'all';

/** Returns `all` in a long run, and `few` in `npm test`. */
export function rounds(all: number, few: number): number {
  return IS_LONG_RUN ? all : few;
}
