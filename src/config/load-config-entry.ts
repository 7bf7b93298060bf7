// The thread in which a changed configuration is loaded.
import { serialize } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from './config.ts';
import { loadConfigWithSources } from './load.ts';
import type { LoadOutcome } from './load-in-thread.ts';

// Absent where this module is imported outside of a thread.
if (parentPort !== null) {
  const outcome: LoadOutcome = await loadConfigWithSources(workerData as string).catch((error: unknown) => {
    if (error instanceof ConfigError) return { problems: error.problems, sources: error.sources };
    throw error;
  });
  parentPort.postMessage(serialize(outcome));
}
