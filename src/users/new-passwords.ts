// New passwords that users choose on a page: checked and hashed one at a time.
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import { judgePassword, passwordContext, type PasswordOwner } from './password-rules.ts';
import { createPasswords, hashPassword } from './passwords.ts';

/** `by`: the link or the user. */
type Wanted = Readonly<Record<'password' | 'by' | 'address', string>> & { readonly owner: PasswordOwner };

/** A wait longer than these take is refused: try again later. */
const MAX_WAITING = 10;

export function createMakePassword(config: Config, limits: Pick<Limits, 'takeNewPassword'>) {
  const queue = createPasswords(1, MAX_WAITING);
  /** Throws PasswordQueueFull and TooManyRequests. */
  return async ({ password, owner, by, address }: Wanted) => {
    await limits.takeNewPassword(by, address);
    return queue.run(async () => {
      const fault = await judgePassword(password, passwordContext(config, owner));
      return fault === undefined ? { passwordHash: await hashPassword(password) } : { fault };
    });
  };
}
