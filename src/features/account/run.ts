// The account page, while it is on. A change needs a recent sign-in.
import type { Context } from 'koa';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import type { Form } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import {
  type AccountError,
  createAccountPage,
  type Route,
  routeOf,
  type Section,
  type SectionChange,
  type Visitor,
} from '../../interaction/account-page.ts';
import type { App } from '../../oidc/app.ts';
import { pageContextOf, seeOther, showPage } from '../../oidc/send-page.ts';
import type { PageModels } from '../../views/models.ts';
import { joinParts } from '../index.ts';
import type { PageParts } from '../page-parts.ts';
import { CHANGE_PASSWORD_PATH } from './feature.ts';
import { createSections } from './sections.ts';

/** The status tells a client to wait; the page says why. */
const STATUSES: Partial<Record<AccountError, number>> = { too_many_attempts: 429, busy: 503 };

export const open = ({ userLists }: App): PageParts => ({
  guard: { isPlain: () => true },
  sections: (host) => (userLists ? createSections(host, userLists) : []),
  routes: (host, sections) => [accountPage(host, sections), changePassword(host)],
});

const changePassword = ({ config }: Host): Route => ({
  path: CHANGE_PASSWORD_PATH,
  handle: (ctx) => seeOther(ctx, `${config.issuer}${ACCOUNT_PATH}`),
});

function accountPage(host: Host, sections: readonly Section[]): Route {
  const page = createAccountPage(host, ACCOUNT_PATH);

  const render = (ctx: Context, model: PageModels['account'], status: number): void =>
    showPage(ctx, host.pages, ['account', model], status);

  async function show(ctx: Context, visitor: Visitor, error?: AccountError): Promise<void> {
    const { locale } = pageContextOf(ctx);
    const fields = await Promise.all(sections.map((section) => section.fields(visitor, locale)));
    const model = {
      outcome: 'page',
      csrf: page.token(visitor),
      signInUrl: visitor.isFresh ? undefined : page.signInUrl(true),
      error,
      ...joinParts(fields),
    };
    // Together, the sections have the rest of the model.
    render(ctx, model as PageModels['account'], error === undefined ? 200 : (STATUSES[error] ?? 422));
  }

  const stale = (ctx: Context, visitor: Visitor | undefined) =>
    render(ctx, { outcome: 'stale', signInUrl: page.signInUrl(visitor !== undefined) }, 403);

  const answered = (change: SectionChange) => async (ctx: Context, visitor: Visitor, form: Form) => {
    const error = await change(ctx, visitor, form);
    // An item that was already gone isn't on the next page.
    return error === undefined ? seeOther(ctx, page.url) : show(ctx, visitor, error);
  };

  const changes = Object.entries(joinParts(sections.map((section) => section.changes))).map(
    ([name, change]) => [name, answered(change)],
  );
  return routeOf(host, page, { show, stale, changes: Object.fromEntries(changes) });
}
