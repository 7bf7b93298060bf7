// The page of a one-time link (users/one-time-links.ts). GET and HEAD use nothing up, so that a link that a mail program or a
// chat opens first still works. No link signs anybody in.
import type { Context } from 'koa';
import type Router from 'koa-router';
import type { Config } from '../config/config.ts';
import { type Account, type Accounts, toGeneration } from '../users/accounts.ts';
import type { TrustedBrowsers } from '../users/trusted-browsers.ts';
import type { MakePassword } from '../users/new-passwords.ts';
import {
  LINK_PURPOSES,
  type OneTimeLink,
  oneTimeLinkUrl,
  type OneTimeLinks,
} from '../users/one-time-links.ts';
import { passwordContext } from '../users/password-rules.ts';
import type { People } from '../users/people.ts';
import type { Clock } from '../store/store.ts';
import type { PageModels } from '../views/models.ts';
import type { Pages, RenderContext } from '../views/pages.ts';
import { Refusal } from '../views/refusal.ts';
import { type Audit, originOf } from '../observability/audit.ts';
import type { Csrf } from './csrf.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';
import { type Form, readFormBody } from './form.ts';

export type LinkParts = {
  readonly config: Pick<Config, 'issuer' | 'passwords' | 'branding'>;
  readonly links: OneTimeLinks;
  readonly accounts: Pick<Accounts, 'findLive'>;
  readonly people: Pick<People, 'setPassword'>;
  readonly makePassword: MakePassword;
  /** Of the store. */
  readonly now: Clock;
  readonly trustedBrowsers: TrustedBrowsers;
  readonly cookie: DeviceCookie;
  readonly csrf: Csrf;
  readonly pages: Pages;
  readonly audit: Audit;
};

const STEP = 'link';
const tokenOf = (ctx: Context) => String(ctx['params'].token);

/** Why a link doesn't work; for the audit trail alone. */
type Dead = { readonly reason: 'unknown' | 'used' | 'ended'; readonly link?: OneTimeLink | undefined };
type Opened = { readonly token: string; readonly link: OneTimeLink; readonly account: Account };
type PasswordError = NonNullable<Extract<PageModels['link'], { outcome: 'password' }>['error']>;

/** Adds the routes below the prefix of `router`. */
export function addLinkRoutes(router: Router, parts: LinkParts): void {
  const { config, trustedBrowsers, cookie, csrf, audit } = parts;
  const page = createLinkPages(parts);

  router.get('/link/:token', async (ctx) => {
    const opened = await open(parts, tokenOf(ctx));
    return 'reason' in opened ? page.refuse(ctx, opened) : page.ask(ctx, opened);
  });

  router.post('/link/:token', async (ctx) => {
    const form = await readFormBody(ctx, config.issuer);
    const token = tokenOf(ctx);
    if (!csrf.matches(form.field('csrf'), token, STEP)) {
      throw new Refusal(403, 'forbidden', 'the form is not from the page of this link');
    }
    const opened = await open(parts, token);
    if ('reason' in opened) return page.refuse(ctx, opened);
    const followed = await follow(parts, opened, form);
    if (typeof followed === 'string') return page.ask(ctx, opened, followed);
    if (followed !== undefined) return page.refuse(ctx, followed);
    const { purpose, accountId } = opened.link;
    cookie.write(ctx, trustedBrowsers.renew(cookie.read(ctx), accountId));
    audit.record('link_used', 'success', {
      ...originOf(ctx.state),
      account_id: accountId,
      action: purpose,
    });
    // To an address without the token.
    ctx.redirect(`${config.issuer}/interaction/done/${purpose}`);
    ctx.status = 303;
  });

  router.get('/done/:purpose', (ctx) => {
    const purpose = LINK_PURPOSES.find((one) => one === ctx['params']['purpose']);
    if (purpose !== undefined) page.show(ctx, { outcome: 'done', purpose });
  });
}

function createLinkPages({ config, csrf, pages, audit }: LinkParts) {
  function show(ctx: Context, model: PageModels['link'], status = 200): void {
    ctx.set('Cache-Control', 'no-store');
    ctx.status = status;
    ctx.type = 'html';
    ctx.body = pages.render('link', model, ctx.state['page'] as RenderContext);
  }

  return {
    show,
    /** One page for every reason. */
    refuse(ctx: Context, { reason, link }: Dead): void {
      const of = { account_id: link?.accountId, action: link?.purpose };
      audit.record('link_used', 'failure', { ...originOf(ctx.state), ...of, reason });
      show(ctx, { outcome: 'expired' }, 410);
    },
    ask(ctx: Context, { token, link: { purpose }, account }: Opened, error?: PasswordError): void {
      const target = { action: oneTimeLinkUrl(config.issuer, token), csrf: csrf.token(token, STEP) };
      if (purpose === 'trust') return show(ctx, { outcome: 'ask', ...target });
      const { username } = account;
      const { minLength } = config.passwords;
      const model = { outcome: 'password', purpose, ...target, username, minLength, error } as const;
      return show(ctx, model, error === undefined ? 200 : 422);
    },
  };
}

async function open({ links, accounts }: LinkParts, token: string): Promise<Opened | Dead> {
  const link = await links.find(token);
  if (link === undefined) return { reason: 'unknown' };
  if (link.isUsed) return { reason: 'used', link };
  const generation = toGeneration([link.passwordSince, link.stateSince]);
  const account = await accounts.findLive(link.accountId, { generation, at: 0 });
  return account === undefined ? { reason: 'ended', link } : { token, link, account };
}

/** Undefined: done. A link whose password was refused can be used again. */
async function follow(
  { config, links, people, makePassword, now }: LinkParts,
  { token, link, account }: Opened,
  form: Form,
): Promise<PasswordError | Dead | undefined> {
  if (link.purpose === 'trust') {
    return (await links.use(token, link)) ? undefined : { reason: 'used', link };
  }
  const password = form.field('password');
  if (password !== form.field('again')) return 'different';
  const made = await makePassword({ password, context: passwordContext(config, account.username) });
  if ('fault' in made) return made.fault;
  if (!(await links.use(token, link))) return { reason: 'used', link };
  const { accountId, passwordSince } = link;
  const nextSecond = Math.floor(now() / 1000) + 1;
  const changed = await people.setPassword(accountId, made.passwordHash, nextSecond, passwordSince);
  return changed === undefined ? { reason: 'ended', link } : undefined;
}
