// How many processes a service of a test runs in. A copy of the project without the feature "workers" has one.
import { isShipped } from './shipped.ts';

const HAS_WORKERS = isShipped('workers');

/** One, and several where they are shipped. */
export const PROCESSES: readonly number[] = HAS_WORKERS ? [1, 2] : [1];

/** The part of a configuration that asks for so many, where they are shipped. */
export const inProcesses = (workers: number) => (HAS_WORKERS ? { workers } : {});
