// New passwords that users choose on a page: checked and hashed one at a time.
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import { judgePassword, passwordContext, type PasswordFault, type PasswordOwner } from './password-rules.ts';
import { createPasswords, hashPassword } from './passwords.ts';

type MadePassword = { readonly passwordHash: string } | { readonly fault: PasswordFault };

/** `by`: the link or the user. Throws PasswordQueueFull and TooManyRequests. */
type MakePassword = (
  wanted: Readonly<Record<'password' | 'by' | 'address', string>> & { readonly owner: PasswordOwner },
) => Promise<MadePassword>;

/** A wait longer than these take is refused: try again later. */
const MAX_WAITING = 10;

export function createMakePassword(config: Config, limits: Pick<Limits, 'takeNewPassword'>): MakePassword {
  const queue = createPasswords(1, MAX_WAITING);
  return async ({ password, owner, by, address }) => {
    await limits.takeNewPassword(by, address);
    return queue.run(async () => {
      const fault = await judgePassword(password, passwordContext(config, owner));
      return fault === undefined ? { passwordHash: await hashPassword(password) } : { fault };
    });
  };
}
