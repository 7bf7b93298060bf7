// The page of a one-time link that makes this browser a trusted one (users/trust-links.ts). GET uses nothing up, so that a
// link that a mail program or a chat opens first still works.
import type { Context } from 'koa';
import type Router from 'koa-router';
import type { Accounts } from '../users/accounts.ts';
import type { TrustedBrowsers } from '../users/trusted-browsers.ts';
import { trustLinkUrl, type TrustLinks } from '../users/trust-links.ts';
import type { PageModels } from '../views/models.ts';
import type { Pages, RenderContext } from '../views/pages.ts';
import { Refusal } from '../views/refusal.ts';
import { type Audit, originOf } from '../observability/audit.ts';
import type { Csrf } from './csrf.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';
import { readFormBody } from './form.ts';

export type TrustParts = {
  readonly issuer: string;
  readonly links: TrustLinks;
  readonly accounts: Pick<Accounts, 'findLive'>;
  readonly trustedBrowsers: TrustedBrowsers;
  readonly cookie: DeviceCookie;
  readonly csrf: Csrf;
  readonly pages: Pages;
  readonly audit: Audit;
};

const STEP = 'trust';
const tokenOf = (ctx: Context) => String(ctx['params'].token);

/** Adds the routes below the prefix of `router`. */
export function addTrustRoutes(router: Router, parts: TrustParts): void {
  const { issuer, links, accounts, trustedBrowsers, cookie, csrf, pages, audit } = parts;

  function show(ctx: Context, model: PageModels['trust']): void {
    ctx.set('Cache-Control', 'no-store');
    ctx.status = model.outcome === 'expired' ? 410 : 200;
    ctx.type = 'html';
    ctx.body = pages.render('trust', model, ctx.state['page'] as RenderContext);
  }

  /** Whose link it is, where that person may still sign in. */
  async function personOf(token: string): Promise<string | undefined> {
    const accountId = await links.find(token);
    const account = accountId && (await accounts.findLive(accountId));
    return account ? accountId : undefined;
  }

  router.get('/trust/:token', async (ctx) => {
    const token = tokenOf(ctx);
    if ((await personOf(token)) === undefined) return show(ctx, { outcome: 'expired' });
    return show(ctx, {
      outcome: 'ask',
      action: trustLinkUrl(issuer, token),
      csrf: csrf.token(token, STEP),
    });
  });

  router.post('/trust/:token', async (ctx) => {
    const form = await readFormBody(ctx, issuer);
    const token = tokenOf(ctx);
    if (!csrf.matches(form.field('csrf'), token, STEP)) {
      throw new Refusal(403, 'forbidden', 'the form is not from the page of this link');
    }
    const accountId = await personOf(token);
    if (accountId === undefined || !(await links.use(token, accountId))) {
      return show(ctx, { outcome: 'expired' });
    }
    cookie.write(ctx, trustedBrowsers.renew(cookie.read(ctx), accountId));
    audit.record('browser_trusted', 'success', { ...originOf(ctx.state), account_id: accountId });
    return show(ctx, { outcome: 'done' });
  });
}
