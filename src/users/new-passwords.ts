// New passwords that users choose on a page: checked and hashed one at a time.
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import { judgePassword, passwordContext, type PasswordFault, type PasswordOwner } from './password-rules.ts';
import { createPasswords, hashPassword } from './passwords.ts';

export type MadePassword = { readonly passwordHash: string } | { readonly fault: PasswordFault };

/** `by`: the link or the user. Throws PasswordQueueFull and TooManyRequests. */
export type MakePassword = (
  wanted: Readonly<Record<'password' | 'by' | 'address', string>> & { readonly owner: PasswordOwner },
) => Promise<MadePassword>;

/** A wait longer than these take is refused: try again later. */
const MAX_WAITING = 10;

export function createMakePassword(config: Config, limits: Pick<Limits, 'takeNewPassword'>): MakePassword {
  const queue = createPasswords(1, MAX_WAITING);
  // Of each link or user one is in the queue, so that no one can fill it. The others wait here; the limit keeps them few.
  const last = new Map<string, Promise<unknown>>();
  return async ({ password, owner, by, address }) => {
    await limits.takeNewPassword(by, address);
    const before = last.get(by);
    const made = (async () => {
      await before;
      return queue.run(async () => {
        const fault = await judgePassword(password, passwordContext(config, owner));
        return fault === undefined ? { passwordHash: await hashPassword(password) } : { fault };
      });
    })();
    const ended = made.then(forget, forget);
    function forget(): void {
      if (last.get(by) === ended) last.delete(by);
    }
    last.set(by, ended);
    return made;
  };
}
