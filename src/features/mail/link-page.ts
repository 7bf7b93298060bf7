// The page of a link in an email (links.ts). GET and HEAD use nothing up: mail programs open links. No link signs anybody in.
import type { Context } from 'koa';
import { ACCOUNT_PATH } from '../../config/endpoint-rows.ts';
import { readFormBody } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import { createNoteDead } from '../../interaction/link-routes.ts';
import type { Route } from '../../interaction/own-page.ts';
import { originOf } from '../../observability/audit.ts';
import { pageContextOf, sendPage } from '../../oidc/send-page.ts';
import { FormRefusal } from '../../views/refusal.ts';
import { EMAIL_PATH } from './feature.ts';
import { createMailLinks, type MailLink } from './links.ts';

/** With the request, uses the link. Resolves whose account it is for; undefined: it doesn't work. What an outage cuts off can be repeated. */
export type FollowMailLink = (link: MailLink, use: Context | undefined) => Promise<string | undefined>;

export function linkPage(host: Host, follow: Readonly<Record<MailLink['purpose'], FollowMailLink>>): Route {
  const { audit, csrf, issuer, pages } = host;
  const [links, noteDead] = [createMailLinks(host), createNoteDead(host)];
  return {
    path: `${EMAIL_PATH}/`,
    async handle(ctx) {
      const token = ctx.path.slice(EMAIL_PATH.length + 1);
      const isUse = ctx.method === 'POST';
      if (isUse && !csrf.matches((await readFormBody(ctx, issuer)).field('csrf'), token, 'email'))
        throw new FormRefusal('csrf', 'the form is not from the page of this link');
      const link = await links.find(token);
      const username = link && (await follow[link.purpose](link, isUse ? ctx : undefined));
      const of = link && { account_id: link.accountId, action: link.purpose };
      if (link === undefined || username === undefined) {
        await noteDead(ctx, { ...of, reason: link === undefined ? 'unknown' : 'ended' });
        ctx.status = 410;
        return sendPage(ctx, pages.render('link', { outcome: 'expired' }, pageContextOf(ctx)));
      }
      if (isUse) audit.record('link_used', 'success', { ...originOf(ctx.state), ...of });
      const { purpose, address } = link;
      const form = { action: `${issuer}${EMAIL_PATH}/${token}`, csrf: csrf.token(token, 'email') };
      const outcome = isUse ? (`${purpose}_done` as const) : purpose;
      const model = { outcome, ...form, username, address, nextUrl: `${issuer}${ACCOUNT_PATH}` };
      return sendPage(ctx, pages.render('email', model, pageContextOf(ctx)));
    },
  };
}
