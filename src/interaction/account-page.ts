// The account pages: finds the user by the session of the browser, and starts a sign-in if the session isn't enough.
import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import type { BrowserSession } from '../oidc/browser-session.ts';
import { internalSignInUrl } from '../oidc/internal-client.ts';
import { seeOther } from '../oidc/send-page.ts';
import type { User } from '../users/user.ts';
import { type Amr, levelOf } from '../users/authentication-methods.ts';
import { type Factors, hasSecondFactor, NO_FACTORS } from '../users/factors.ts';
import type { PageModels } from '../views/models.ts';
import { type Form, readFormBody } from './form.ts';
import { type Host, secondsOf } from './host.ts';

const FRESH_SECONDS = 300;

/** `issued.at`: time of the first factor; `factorAt`: time of the last second factor. */
type Proved = Readonly<{
  amr: Amr;
  issued: { readonly at: number } | undefined;
  factorAt?: number | undefined;
}>;

/**
 * Whether a session may change its user's factors or password (NIST SP 800-63B-4 §4.1.2, ASVS 7.5.1): it proved both factors recently. A
 * passkey that verified its user counts as both. `at`: epoch seconds.
 */
export function isFresh({ amr, issued, factorAt }: Proved, factors: Factors, at: number): boolean {
  const isLate = (time = 0) => at - time > FRESH_SECONDS;
  if (hasSecondFactor(factors) && isLate(factorAt)) return false;
  return (hasSecondFactor(factors) && levelOf(amr) === 'passkey') || !isLate(issued?.at);
}

export type Visitor = Readonly<{
  session: BrowserSession;
  account: User;
  factors: Factors;
  isFresh: boolean;
}>;

export type AccountPage = ReturnType<typeof createAccountPage>;

/** `path` is below the issuer. */
export function createAccountPage(host: Host, path: string) {
  const { config, sessions, accounts, guard, csrf } = host;
  const stepOf = ({ account }: Visitor) => `${path}:${account.id}`;

  return {
    path,
    url: `${config.issuer}${path}`,
    /** Undefined: no user is signed in, the level is too low, or the user's sessions have ended. */
    async find(ctx: Context): Promise<Visitor | undefined> {
      ctx.set('Cache-Control', 'no-store');
      const session = await sessions.find(ctx);
      const account = session && (await accounts.findLive(session.accountId, session.issued));
      if (session === undefined || account === undefined) return undefined;
      const factors = config.signIn === undefined ? NO_FACTORS : await host.factors.get(account.id);
      if (!guard.isEnough(session, factors)) return undefined;
      return { session, account, factors, isFresh: isFresh(session, factors, secondsOf(host)) };
    },
    /** The URL of a sign-in that leads back to this page and its `view`; `again`: the user signed in too long ago. */
    signInUrl: (again: boolean, view?: string) =>
      internalSignInUrl(config.issuer, callbackOf(path), again, view),
    /** The token for forms of this page, valid for this user alone. */
    token: (visitor: Visitor) => csrf.token(visitor.session.uid, stepOf(visitor)),
    /** Throws Refusal for a form of another page. */
    checkToken: (visitor: Visitor, form: Form) => csrf.check(form, visitor.session.uid, stepOf(visitor)),
  };
}

/** What the user wants to add on the page: in `add` of its URL and, after a sign-in, in `state`. */
export function viewOf({ query }: Pick<Context, 'query'>, parameter: 'add' | 'state'): string | undefined {
  const value = query[parameter];
  return typeof value === 'string' && /^\w{1,40}$/.test(value) ? value : undefined;
}

export type AccountChanges = Readonly<
  Record<string, (ctx: Context, visitor: Visitor, form: Form) => Promise<void>>
>;

/** Handles requests whose path begins with `path`, and passes on those that it doesn't serve. */
export type Route = Readonly<{ path: string; handle: Middleware }>;

type Routes = Readonly<{
  show: (ctx: Context, visitor: Visitor) => Promise<void> | void;
  /** The response to a form without a session that is fresh and strong enough. */
  stale: (ctx: Context, visitor: Visitor | undefined) => void;
  /** Additional requirements for a change. */
  mayChange?: (visitor: Visitor) => boolean;
  /** The handlers of forms, by path below the page. */
  changes: AccountChanges;
}>;

export function routeOf(
  { config: { issuer } }: Host,
  page: AccountPage,
  { show, stale, mayChange = () => true, changes }: Routes,
): Route {
  const router = new Router();
  router.get(page.path, async (ctx) => {
    const visitor = await page.find(ctx);
    return visitor === undefined
      ? seeOther(ctx, page.signInUrl(false, viewOf(ctx, 'add')))
      : show(ctx, visitor);
  });

  router.get(callbackOf(page.path), (ctx) => {
    // The user cancelled the sign-in, so there is no page to show.
    const view = viewOf(ctx, 'state');
    const url = view === undefined ? page.url : `${page.url}?add=${view}`;
    seeOther(ctx, ctx.query['error'] === undefined ? url : `${issuer}/`);
  });

  for (const [name, change] of Object.entries(changes)) {
    router.post(`${page.path}/${name}`, async (ctx) => {
      const form = await readFormBody(ctx);
      const visitor = await page.find(ctx);
      if (!visitor?.isFresh || !mayChange(visitor)) return stale(ctx, visitor);
      page.checkToken(visitor, form);
      return change(ctx, visitor, form);
    });
  }
  return { path: page.path, handle: router.routes() as unknown as Middleware };
}

export type AccountFields = Extract<PageModels['account'], { outcome: 'page' }>;
export type AccountError = NonNullable<AccountFields['error']>;

/** Resolves the error that the page shows, or undefined. */
export type SectionChange = (ctx: Context, visitor: Visitor, form: Form) => Promise<AccountError | undefined>;

export type Section = Readonly<{
  /** The members that it adds to the model of the page. */
  fields: (visitor: Visitor, locale: string) => Promise<Partial<AccountFields>>;
  /** Its forms, by path below the page. */
  changes?: Readonly<Record<string, SectionChange>>;
}>;

/** Redirect URI of the internal client (oidc/internal-client.ts). */
const callbackOf = (path: string) => `${path}/callback`;
