/** `npm run chaos:flows`: all rounds of what needs many for luck, on a Redis Cluster. */
export const IS_LONG_RUN = process.env['POSTERN_ROUNDS'] === 'all';

/** So many rounds in a long run, and `few` of them in `npm test`. */
export function rounds(all: number, few: number): number {
  return IS_LONG_RUN ? all : few;
}
