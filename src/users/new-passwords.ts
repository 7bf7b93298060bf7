// New passwords that people choose on a page. Judging one reads 9 MB of dictionaries and can take a second: it is done in a
// thread of its own, which takes its memory with it, and one at a time.
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PasswordContext, PasswordFault } from './password-rules.ts';
import { createPasswords } from './passwords.ts';

export type NewPassword = { readonly password: string; readonly context: PasswordContext };
export type MadePassword = { readonly passwordHash: string } | { readonly fault: PasswordFault };

/** Throws PasswordQueueFull. */
export type MakePassword = (wanted: NewPassword) => Promise<MadePassword>;

/** `.ts` where the sources run as they are. */
const ENTRY = new URL(`./new-password-entry${extname(import.meta.url)}`, import.meta.url);
/** A wait longer than these take is refused: try again later. */
const MAX_WAITING = 10;

export function createMakePassword(): MakePassword {
  const queue = createPasswords(1, MAX_WAITING);
  return (wanted) => queue.run(() => makeInThread(wanted));
}

async function makeInThread(wanted: NewPassword): Promise<MadePassword> {
  // No secret of the environment, and nothing that the operator loads into the process (`--import`).
  const thread = new Worker(ENTRY, { workerData: wanted, env: {}, execArgv: [] });
  const [made] = (await once(thread, 'message')) as [MadePassword];
  return made;
}
