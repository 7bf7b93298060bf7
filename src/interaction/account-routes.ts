// The page where users help themselves: what the service has of them, where they are signed in, which apps they let in, their
// password. A change needs a sign-in of a moment ago.
import type { Context } from 'koa';
import type Router from 'koa-router';
import { ACCOUNT_PATH } from '../config/endpoints.ts';
import { originOf } from '../observability/audit.ts';
import { pageContextOf, sendPage } from '../oidc/send-page.ts';
import { type AccountError, type AccountModel, createToAccountModel } from './account-model.ts';
import { createChangePassword } from './change-password.ts';
import type { PageModels } from '../views/models.ts';
import type { Form } from './form.ts';
import { addOwnPage, createOwnPage, type Visitor } from './own-page.ts';
import { seeOther } from './go-on.ts';
import type { AccountPage, Host } from './host.ts';

/** What was done, and of what. */
type Done = { readonly what: NonNullable<AccountModel['done']>; readonly app?: string };
type Change = (ctx: Context, visitor: Visitor, form: Form) => Promise<Done | AccountError | undefined>;

/** HTTP says for how long; the page says why. */
const STATUSES: Partial<Record<AccountError, number>> = { too_many_attempts: 429, busy: 503 };

export function addAccountPage(router: Router, host: Host, page: AccountPage): void {
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
    const done = await change(ctx, visitor, form);
    if (typeof done === 'string') return show(ctx, visitor, done);
    // What was gone already is not there on the next page.
    if (done !== undefined) await host.tell(ctx, visitor.account.id, done.what, done.app);
    return seeOther(ctx, own.url);
  };

  const changes = Object.entries(createChanges(host, page)).map(([name, change]) => [name, answered(change)]);
  addOwnPage(router, host, own, { show, stale, changes: Object.fromEntries(changes) });
}

const whoOf = (ctx: Context, { account }: Visitor) => ({ ...originOf(ctx.state), account_id: account.id });

function createChanges(host: Host, { userSessions, grants }: AccountPage): Readonly<Record<string, Change>> {
  const { audit } = host;
  const changePassword = createChangePassword(host);

  async function end(ctx: Context, visitor: Visitor, uids: readonly string[]): Promise<number> {
    let ended = 0;
    for (const uid of uids) {
      if (!(await userSessions.end(visitor.account.id, uid))) continue;
      audit.record('sign_out', 'success', { ...whoOf(ctx, visitor), reason: 'ended_by_the_person' });
      ended += 1;
    }
    return ended;
  }

  async function othersOf({ account, session }: Visitor): Promise<readonly string[]> {
    const sessions = await userSessions.list(account.id);
    return sessions.map(({ uid }) => uid).filter((uid) => uid !== session.uid);
  }

  return {
    async password(ctx, visitor, form) {
      const others = await othersOf(visitor);
      const changed = await changePassword(ctx, visitor, form);
      const fields = { ...whoOf(ctx, visitor), action: 'password' };
      if (typeof changed === 'string') {
        audit.record('account_changed', 'failure', { ...fields, reason: changed });
        return changed;
      }
      audit.record('account_changed', 'success', fields);
      await end(ctx, visitor, others);
      return { what: 'password_changed' };
    },
    async 'end-session'(ctx, visitor, form) {
      const uid = (await othersOf(visitor)).find((one) => userSessions.idOf(one) === form.field('id'));
      if (uid === undefined || (await end(ctx, visitor, [uid])) === 0) return undefined;
      return { what: 'session_ended' };
    },
    async 'end-others'(ctx, visitor) {
      const ended = await end(ctx, visitor, await othersOf(visitor));
      return ended === 0 ? undefined : { what: 'sessions_ended' };
    },
    async withdraw(ctx, visitor, form) {
      const clientId = form.field('id');
      if (!(await grants.withdraw(visitor.account.id, clientId))) return undefined;
      const reason = 'withdrawn_by_the_person';
      audit.record('consent_withdrawn', 'success', { ...whoOf(ctx, visitor), client_id: clientId, reason });
      return { what: 'app_withdrawn', app: clientId };
    },
  };
}
