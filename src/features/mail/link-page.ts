// The page of a link in an email (links.ts). GET and HEAD don't use a link up, because mail programs open links. No link signs a user in.
import type { Context } from 'koa';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { type Form, readFormBody } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import { createNoteDead } from '../../interaction/link-routes.ts';
import type { Route } from '../../interaction/account-page.ts';
import { originOf } from '../../observability/audit.ts';
import { pageContextOf, sendPage } from '../../oidc/send-page.ts';
import { EMAIL_PATH, FORGOT_PATH, SIGN_UP_PATH } from './feature.ts';
import { createMailLinks, type MailLink } from './links.ts';

/** `form`: the submitted form, which uses the link. `action` and `csrf` are for the next form. */
export type Visit = Readonly<{ ctx: Context; form: Form | undefined; action: string; csrf: string }>;

/** Resolves the username; undefined: the link doesn't work; true: it has responded. An interrupted request can be repeated. */
export type FollowMailLink = (link: MailLink, visit: Visit) => Promise<string | true | undefined>;

const fieldsOf = (link: MailLink | undefined) => link && { account_id: link.accountId, action: link.purpose };

export function linkPage(host: Host, follow: Readonly<Record<MailLink['purpose'], FollowMailLink>>): Route {
  const { audit, config, csrf, issuer, pages } = host;
  const [links, noteDead] = [createMailLinks(host), createNoteDead(host)];

  const newUserPath = config.mail?.signUp && SIGN_UP_PATH;
  /** An undo link can't be requested. */
  const newLinkPaths = { address: config.account && ACCOUNT_PATH, undo: false, new_user: newUserPath };

  async function refuse(ctx: Context, link: MailLink | undefined): Promise<void> {
    await noteDead(ctx, { ...fieldsOf(link), reason: link === undefined ? 'unknown' : 'ended' });
    ctx.status = 410;
    const path = link && newLinkPaths[link.purpose];
    const newLinkUrl = path ? `${issuer}${path}` : undefined;
    sendPage(ctx, pages.render('link', { outcome: 'expired', newLinkUrl }, pageContextOf(ctx)));
  }

  async function formOf(ctx: Context, token: string): Promise<Form | undefined> {
    if (ctx.method !== 'POST') return undefined;
    const form = await readFormBody(ctx);
    csrf.check(form, token, 'email');
    return form;
  }

  return {
    path: `${EMAIL_PATH}/`,
    async handle(ctx) {
      const token = ctx.path.slice(EMAIL_PATH.length + 1);
      const form = await formOf(ctx, token);
      const target = { action: `${issuer}${EMAIL_PATH}/${token}`, csrf: csrf.token(token, 'email') };
      const link = await links.find(token);
      if (link === undefined || link.isOver) return refuse(ctx, link);
      const username = await follow[link.purpose](link, { ctx, form, ...target });
      if (username === undefined) return refuse(ctx, link);
      const { purpose, address } = link;
      if (username === true || purpose === 'new_user') return;
      if (form) audit.record('link_used', 'success', { ...originOf(ctx.state), ...fieldsOf(link) });
      // The person who changed the address may know the password, or may have changed it.
      const nextPath = purpose === 'undo' ? FORGOT_PATH : ACCOUNT_PATH;
      const outcome = form ? (`${purpose}_done` as const) : purpose;
      const model = { outcome, ...target, username, address, nextUrl: `${issuer}${nextPath}` };
      return sendPage(ctx, pages.render('email', model, pageContextOf(ctx)));
    },
  };
}
