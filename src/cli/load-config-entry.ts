// The thread in which a changed configuration is loaded.
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../config/config.ts';
import { inParts, type LoadJob, type LoadOutcome } from '../config/load-in-thread.ts';
import { avoid } from '../config/regular-file.ts';
import { readLoaded } from './configuration.ts';

async function load({ file, hung }: LoadJob): Promise<LoadOutcome> {
  avoid(hung);
  try {
    return { parts: inParts(await readLoaded(file)) };
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems, sources: error.sources };
    throw error;
  }
}

// Absent where this module is imported outside of a thread.
if (parentPort !== null) parentPort.postMessage(await load(workerData as LoadJob));
