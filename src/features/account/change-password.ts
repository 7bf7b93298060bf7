// Changes the password of a user who knows the old one. Ends the user's sessions, tokens and links, except this browser's session.
import type { Context } from 'koa';
import { actorOf } from '../../interaction/actor.ts';
import type { Form } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import type { AccountError, Visitor } from '../../interaction/account-page.ts';
import { clientAddressOf } from '../../observability/audit.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { toGeneration } from '../../users/accounts.ts';
import { setPassword } from '../../users/acts.ts';
import { PasswordQueueFull } from '../../users/hashing-threads.ts';
import { Refusal } from '../../views/refusal.ts';

export function createChangePassword(host: Host) {
  const { checkPassword, limits, states, makePassword, sessions, records, cookie } = host;

  /** Counts like every other attempt to sign in as this user. */
  async function isRight(
    ctx: Context,
    { account }: Visitor,
    password: string,
  ): Promise<AccountError | undefined> {
    const result = await checkPassword({
      username: account.username,
      password,
      address: clientAddressOf(ctx),
      device: cookie.read(ctx),
    });
    if (result.user?.id === account.id) {
      // The second factor was proved when the user signed in.
      if ('pending' in result) await limits.finishSignIn(result.pending);
      return undefined;
    }
    if (!('cause' in result)) return 'wrong_password';
    if (result.cause instanceof StoreUnavailable) throw result.cause;
    ctx.set('Retry-After', String(result.cause.retryAfterSeconds));
    return result.reason === 'busy' ? 'busy' : 'too_many_attempts';
  }

  /** Throws Refusal if the user can't change the password here. */
  return async function changePassword(
    ctx: Context,
    visitor: Visitor,
    form: Form,
  ): Promise<AccountError | undefined> {
    const { account } = visitor;
    if (!account.hasPassword || !account.canSetPassword)
      throw new Refusal(403, 'forbidden', 'this password is not kept here');
    const password = form.field('password');
    if (password !== form.field('again')) return 'different';
    const wrong = await isRight(ctx, visitor, form.field('current'));
    if (wrong !== undefined) return wrong;
    const { id: by } = account;
    const address = clientAddressOf(ctx);
    const made = await makePassword({ password, owner: account, by, address }).catch((error: unknown) => {
      if (error instanceof PasswordQueueFull) return { fault: 'busy' } as const;
      throw error;
    });
    if ('fault' in made) return made.fault;
    const changed = await setPassword(host, actorOf(ctx), {
      accountId: account.id,
      passwordHash: made.passwordHash,
      // Read before the old password was compared: of two concurrent changes, the second one's old password is wrong.
      since: account.validAfter,
      async keep(user) {
        const { validAfter } = await states.get(account.id);
        await sessions.update(ctx, { generation: toGeneration([user.validAfter, validAfter]) });
        await records.flush();
      },
    });
    return changed === undefined ? 'wrong_password' : undefined;
  };
}
