// New passwords that people choose on a page. Judging one reads 9 MB of dictionaries and can take a second: it is done in a
// thread of its own, which takes its memory with it, and one at a time.
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import { type PasswordContext, passwordContext, type PasswordFault } from './password-rules.ts';
import { createPasswords } from './passwords.ts';

/** What the thread gets. */
export type NewPassword = { readonly password: string; readonly context: PasswordContext };
export type MadePassword = { readonly passwordHash: string } | { readonly fault: PasswordFault };

/** `by`: the link or the user. Throws PasswordQueueFull and TooManyRequests. */
export type MakePassword = (
  wanted: Readonly<Record<'password' | 'username' | 'by' | 'address', string>>,
) => Promise<MadePassword>;

/** `.ts` where the sources run as they are. */
const ENTRY = new URL(`./new-password-entry${extname(import.meta.url)}`, import.meta.url);
/** A wait longer than these take is refused: try again later. */
const MAX_WAITING = 10;

export function createMakePassword(config: Config, limits: Pick<Limits, 'takeNewPassword'>): MakePassword {
  const queue = createPasswords(1, MAX_WAITING);
  // Of each link or user one is in the queue, so that no one can fill it. The others wait here; the limit keeps them few.
  const last = new Map<string, Promise<unknown>>();
  return async ({ password, username, by, address }) => {
    await limits.takeNewPassword(by, address);
    const before = last.get(by);
    const context = passwordContext(config, username);
    const made = (async () => {
      await before;
      return queue.run(() => makeInThread({ password, context }));
    })();
    const ended = made.then(forget, forget);
    function forget(): void {
      if (last.get(by) === ended) last.delete(by);
    }
    last.set(by, ended);
    return made;
  };
}

async function makeInThread(wanted: NewPassword): Promise<MadePassword> {
  // No secret of the environment, and nothing that the operator loads into the process (`--import`).
  const thread = new Worker(ENTRY, { workerData: wanted, env: {}, execArgv: [] });
  const [made] = (await once(thread, 'message')) as [MadePassword];
  return made;
}
