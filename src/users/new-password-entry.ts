// The whole of a thread that judges and hashes one new password, and ends. Started by new-passwords.ts.
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { MadePassword, NewPassword } from './new-passwords.ts';
import { judgePassword } from './password-rules.ts';
import { hashPassword } from './passwords.ts';

async function make({ password, context }: NewPassword): Promise<MadePassword> {
  const fault = await judgePassword(password, context);
  return fault === undefined ? { passwordHash: await hashPassword(password) } : { fault };
}

try {
  // As in hashing-thread-entry.ts: what people and programs wait for comes first.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
  // A sandbox may refuse it.
}
parentPort?.postMessage(await make(workerData as NewPassword));
