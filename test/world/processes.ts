// The number of processes of a service in a test. A copy of the project without the feature "workers" has one.
import { isShipped } from './shipped.ts';

const HAS_WORKERS = isShipped('workers');

/** One; also two if the feature is shipped. */
export const PROCESSES: readonly number[] = HAS_WORKERS ? [1, 2] : [1];

/** The part of a configuration that sets this number of workers, if the feature is shipped. */
export const inProcesses = (workers: number) => (HAS_WORKERS ? { workers } : {});
