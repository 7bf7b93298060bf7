// The whole of a thread that compares passwords, one at a time. Started by hashing-threads.ts.
import { parentPort } from 'node:worker_threads';
import { verifySync } from '@node-rs/argon2';
import { standBack } from '../config/threads.ts';
import type { Compared, HashTask } from './hashing-threads.ts';

function compare({ passwordHash, password }: HashTask): Compared {
  try {
    return { matches: verifySync(passwordHash, password) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

standBack();
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(compare(task)));
