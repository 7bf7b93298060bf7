// Loads a configuration in a thread of its own, so that reading thousands of clients doesn't hold up requests.
import { once } from 'node:events';
import { totalmem } from 'node:os';
import { extname } from 'node:path';
import { deserialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { ConfigError } from './config.ts';
import type { LoadedConfig } from './load.ts';

/** Longer than reading ten thousand clients takes on a busy machine. */
const LOAD_WITHIN_MS = 60_000;

/** Heap of the thread: an eighth of the memory. A faulty file takes more memory to read, and must not stop the process. */
const heapMiB = () =>
  Math.max(64, Math.floor(Math.min(totalmem(), process.constrainedMemory() || Infinity) / 8 / 1024 ** 2));

/** The message of the thread. It is serialized, because a structured clone has no Buffers. */
export type LoadOutcome = LoadedConfig | Pick<ConfigError, 'problems' | 'sources'>;

/** `.ts` if the sources run without a build. */
const ENTRY = new URL(`./load-config-entry${extname(import.meta.url)}`, import.meta.url);

/** Rejects with ConfigError, as loadConfigWithSources does. */
export async function loadInThread(file: string, most = heapMiB()): Promise<LoadedConfig> {
  // An empty execArgv: the thread doesn't load modules of --import.
  const signal = AbortSignal.timeout(LOAD_WITHIN_MS);
  const thread = new Worker(ENTRY, {
    workerData: file,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: most },
  });
  try {
    const [posted] = (await once(thread, 'message', { signal })) as [Uint8Array];
    const outcome = deserialize(posted) as LoadOutcome;
    if ('problems' in outcome) throw new ConfigError(outcome.problems, outcome.sources);
    return outcome;
  } catch (error) {
    if (signal.aborted) throw new Error('reading took more than a minute', { cause: error });
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
    throw isTooLarge ? new Error(`reading took more than ${most} MiB of memory`) : error;
  } finally {
    // Not awaited: it would wait for a read that hangs.
    void thread.terminate();
  }
}
