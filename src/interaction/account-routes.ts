// The page where users help themselves: what the service has of them, where they are signed in, which apps they let in, their
// password. A change needs a sign-in of a moment ago.
import type { Context } from 'koa';
import { ACCOUNT_PATH } from '../config/endpoint-rows.ts';
import { pageContextOf, sendPage, seeOther } from '../oidc/send-page.ts';
import { type EndedSessions, endSessions, notePasswordRefused, withdrawApp } from '../users/acts.ts';
import { type AccountError, createToAccountModel } from './account-model.ts';
import { actorOf } from './actor.ts';
import { createChangePassword } from './change-password.ts';
import type { PageModels } from '../views/models.ts';
import type { Form } from './form.ts';
import { createOwnPage, type Route, routeOf, type Visitor } from './own-page.ts';
import type { AccountPage, Host } from './host.ts';

type Change = (ctx: Context, visitor: Visitor, form: Form) => Promise<AccountError | undefined>;

/** HTTP says for how long; the page says why. */
const STATUSES: Partial<Record<AccountError, number>> = { too_many_attempts: 429, busy: 503 };

export function accountPage(host: Host, page: AccountPage): Route {
  const own = createOwnPage(host, ACCOUNT_PATH);
  const toModel = createToAccountModel(host, page);

  function render(ctx: Context, model: PageModels['account'], status: number): void {
    ctx.status = status;
    sendPage(ctx, host.pages.render('account', model, pageContextOf(ctx)));
  }

  async function show(ctx: Context, visitor: Visitor, error?: AccountError): Promise<void> {
    const model = await toModel(visitor, own, pageContextOf(ctx).locale, error);
    render(ctx, model, error === undefined ? 200 : (STATUSES[error] ?? 422));
  }

  const stale = (ctx: Context, visitor: Visitor | undefined) =>
    render(ctx, { outcome: 'stale', signInUrl: own.signInUrl(visitor !== undefined) }, 403);

  const answered = (change: Change) => async (ctx: Context, visitor: Visitor, form: Form) => {
    const error = await change(ctx, visitor, form);
    // What was gone already is not there on the next page.
    return error === undefined ? seeOther(ctx, own.url) : show(ctx, visitor, error);
  };

  const changes = Object.entries(createChanges(host, page)).map(([name, change]) => [name, answered(change)]);
  return routeOf(host, own, { show, stale, changes: Object.fromEntries(changes) });
}

function createChanges(host: Host, { userSessions, grants }: AccountPage): Readonly<Record<string, Change>> {
  const changePassword = createChangePassword(host);

  async function othersOf({ account, session }: Visitor): Promise<readonly string[]> {
    const sessions = await userSessions.list(account.id);
    return sessions.map(({ uid }) => uid).filter((uid) => uid !== session.uid);
  }

  const end = (ctx: Context, { account }: Visitor, uids: readonly string[], what?: EndedSessions['what']) =>
    endSessions(host, actorOf(ctx), { userSessions, accountId: account.id, uids, what });

  return {
    async password(ctx, visitor, form) {
      const others = await othersOf(visitor);
      const error = await changePassword(ctx, visitor, form);
      if (error === undefined) await end(ctx, visitor, others);
      else notePasswordRefused(host, actorOf(ctx), visitor.account.id, error);
      return error;
    },
    async 'end-session'(ctx, visitor, form) {
      const uid = (await othersOf(visitor)).find((one) => userSessions.idOf(one) === form.field('id'));
      if (uid !== undefined) await end(ctx, visitor, [uid], 'session_ended');
      return undefined;
    },
    async 'end-others'(ctx, visitor) {
      await end(ctx, visitor, await othersOf(visitor), 'sessions_ended');
      return undefined;
    },
    async withdraw(ctx, { account }, form) {
      await withdrawApp(host, actorOf(ctx), { grants, accountId: account.id, clientId: form.field('id') });
      return undefined;
    },
  };
}
