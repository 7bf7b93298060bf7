// The page where people help themselves: what the service has of them, where they are signed in, which apps they let in, their
// password. A change needs a sign-in of a moment ago.
import type { Context, Middleware } from 'koa';
import { ACCOUNT_PATH } from '../config/endpoints.ts';
import { originOf } from '../observability/audit.ts';
import type { PersonGrants } from '../oidc/person-grants.ts';
import type { PersonSessions } from '../oidc/person-sessions.ts';
import { pageContextOf, sendPage } from '../oidc/send-page.ts';
import type { AccountError, AccountModel, ToAccountModel } from './account-model.ts';
import type { ChangePassword } from './change-password.ts';
import type { Form } from './form.ts';
import { createOwnPage, type OwnPageParts, ownPageRoutes, type Visitor } from './own-page.ts';
import { seeOther } from './go-on.ts';
import type { Tell } from './tell.ts';

export type AccountRoutesParts = OwnPageParts & {
  readonly toModel: ToAccountModel;
  readonly changePassword: ChangePassword;
  readonly personSessions: PersonSessions;
  readonly grants: PersonGrants;
  readonly tell: Tell;
};

/** What was done, and of what. */
type Done = { readonly what: NonNullable<AccountModel['done']>; readonly app?: string };
type Change = (ctx: Context, visitor: Visitor, form: Form) => Promise<Done | AccountError | undefined>;

/** HTTP says for how long; the page says why. */
const STATUSES: Partial<Record<AccountError, number>> = { too_many_attempts: 429, busy: 503 };

export function accountRoutes(parts: AccountRoutesParts): Middleware {
  const { config, toModel, pages, tell } = parts;
  const own = createOwnPage(parts, ACCOUNT_PATH);
  const pageUrl = `${config.issuer}${ACCOUNT_PATH}`;

  async function show(ctx: Context, visitor: Visitor, error?: AccountError): Promise<void> {
    const context = pageContextOf(ctx);
    const done = typeof ctx.query['done'] === 'string' ? ctx.query['done'] : undefined;
    const model = await toModel(visitor, own, { locale: context.locale, done, error });
    ctx.status = error === undefined ? 200 : (STATUSES[error] ?? 422);
    sendPage(ctx, pages.render('account', model, context));
  }

  function stale(ctx: Context, visitor: Visitor | undefined): void {
    const model = { outcome: 'stale', signInUrl: own.signInUrl(visitor !== undefined) } as const;
    ctx.status = 403;
    sendPage(ctx, pages.render('account', model, pageContextOf(ctx)));
  }

  const answered = (change: Change) => async (ctx: Context, visitor: Visitor, form: Form) => {
    const done = await change(ctx, visitor, form);
    if (typeof done === 'string') return show(ctx, visitor, done);
    // What was gone already is not there on the next page.
    if (done !== undefined) await tell(ctx, visitor.account.id, done.what, done.app);
    return seeOther(ctx, done === undefined ? pageUrl : `${pageUrl}?done=${done.what}`);
  };

  const changes = Object.entries(createChanges(parts)).map(([name, change]) => [name, answered(change)]);
  const page = { issuer: config.issuer, path: ACCOUNT_PATH };
  return ownPageRoutes(own, page, { show, stale, changes: Object.fromEntries(changes) });
}

const whoOf = (ctx: Context, { account }: Visitor) => ({ ...originOf(ctx.state), account_id: account.id });

function createChanges({
  personSessions,
  grants,
  changePassword,
  audit,
}: AccountRoutesParts): Readonly<Record<string, Change>> {
  async function end(ctx: Context, visitor: Visitor, uids: readonly string[]): Promise<number> {
    let ended = 0;
    for (const uid of uids) {
      if (!(await personSessions.end(visitor.account.id, uid))) continue;
      audit.record('sign_out', 'success', { ...whoOf(ctx, visitor), reason: 'ended_by_the_person' });
      ended += 1;
    }
    return ended;
  }

  async function othersOf({ account, session }: Visitor): Promise<readonly string[]> {
    const sessions = await personSessions.list(account.id);
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
      const uid = (await othersOf(visitor)).find((one) => personSessions.idOf(one) === form.field('id'));
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
