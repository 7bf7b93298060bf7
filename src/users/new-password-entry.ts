// The whole of a thread that judges and hashes one new password, and ends. Started by new-passwords.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { standBack } from '../config/threads.ts';
import type { MadePassword, NewPassword } from './new-passwords.ts';
import { judgePassword } from './password-rules.ts';
import { hashPassword } from './passwords.ts';

async function make({ password, context }: NewPassword): Promise<MadePassword> {
  const fault = await judgePassword(password, context);
  return fault === undefined ? { passwordHash: await hashPassword(password) } : { fault };
}

standBack();
parentPort?.postMessage(await make(workerData as NewPassword));
