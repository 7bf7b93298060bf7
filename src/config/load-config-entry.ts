// The thread that loads a changed configuration.
import { serialize } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from './config.ts';
import { loadConfigWithSources } from './load.ts';
import type { LoadOutcome } from './load-in-thread.ts';

// Null if this module is imported outside a thread.
if (parentPort !== null) {
  const outcome: LoadOutcome = await loadConfigWithSources(workerData as string).catch((error: unknown) => {
    if (error instanceof ConfigError) return { problems: error.problems, sources: error.sources };
    throw error;
  });
  parentPort.postMessage(serialize(outcome));
}
