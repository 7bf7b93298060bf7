// The thread that compares passwords, one at a time. hashing-threads.ts starts it. A hash that can't be read ends it.
import { parentPort } from 'node:worker_threads';
import { verifySync } from '@node-rs/argon2';
import { lowerThreadPriority } from '../config/threads.ts';
import type { HashTask } from './hashing-threads.ts';

lowerThreadPriority();
parentPort?.on('message', ({ passwordHash, password }: HashTask) =>
  parentPort?.postMessage(verifySync(passwordHash, password)),
);
