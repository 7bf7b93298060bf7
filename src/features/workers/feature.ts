// Several processes that serve on one port and one store.
import { availableParallelism } from 'node:os';
import * as z from 'zod';
import type { Declaration } from '../feature.ts';

/** More than machines have cores, but few enough that a typo doesn't start a thousand processes. */
const MOST_WORKERS = 128;

export const workers = {
  name: 'workers',
  service: {
    workers: z
      .union(
        [
          z.int().min(1, 'must be at least 1').max(MOST_WORKERS, `must be at most ${MOST_WORKERS}`),
          z.literal('auto'),
        ],
        `must be a whole number from 1 to ${MOST_WORKERS}, or auto`,
      )
      .transform((count) => (count === 'auto' ? Math.min(availableParallelism(), MOST_WORKERS) : count))
      .prefault(1)
      .describe(
        'Number of processes that serve requests, on the same port and store. auto: one per core, because introspection and sign-ins use one core per process. With more than one, a separate process supervises them and serves the management address.',
      ),
  },
  ofMachine: ['workers'],
  isOn: (config: { readonly workers: number }) => config.workers > 1,
} as const satisfies Declaration;
