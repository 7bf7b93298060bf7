// The page for forgotten passwords. It doesn't look up users: it stores what was typed as a job and responds in the same way to everyone.
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { MAX_USERNAME_LENGTH } from '../../interaction/attempt.ts';
import { readFormBody } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import type { Route } from '../../interaction/own-page.ts';
import { networkOf } from '../../limits/network.ts';
import { cookieName, cookieOptions } from '../../oidc/cookie-names.ts';
import { pageContextOf, sendPage, seeOther } from '../../oidc/send-page.ts';
import type { PageModels } from '../../views/models.ts';
import { FormRefusal } from '../../views/refusal.ts';
import { FORGOT_PATH } from './feature.ts';
import { type MailJobs, newJob } from './jobs.ts';

export function forgotPage(host: Host, jobs: MailJobs): Route {
  const { config, csrf, limits, pages } = host;
  const { issuer } = config;
  const url = `${issuer}${FORGOT_PATH}`;
  const name = cookieName(issuer, 'forgot');
  const options = cookieOptions(issuer);
  const cookieOf = (ctx: Context) => ctx.cookies.get(name, options)?.slice(0, 100) ?? '';

  const show = (ctx: Context, model: PageModels['forgot']) =>
    sendPage(ctx, pages.render('forgot', model, pageContextOf(ctx)));

  function ask(ctx: Context): void {
    const browser = cookieOf(ctx) || randomBytes(32).toString('base64url');
    ctx.cookies.set(name, browser, options);
    show(ctx, { outcome: 'ask', action: url, csrf: csrf.token(browser, 'forgot') });
  }

  async function request(ctx: Context): Promise<void> {
    const form = await readFormBody(ctx, issuer);
    const browser = cookieOf(ctx);
    if (browser === '' || !csrf.matches(form.field('csrf'), browser, 'forgot'))
      throw new FormRefusal('csrf', 'the form is not from this page, please go back and try again');
    const typed = form.field('username').slice(0, MAX_USERNAME_LENGTH);
    const address = String(ctx.state['clientAddress']);
    const ofNetwork = limits.quotaOf('mail.network', networkOf(address));
    await limits.takeExactly({ address }, [limits.quotaOf('mail.address', address), ofNetwork]);
    await jobs.add([newJob({ what: 'forgot', typed, locale: pageContextOf(ctx).locale, isAsked: true })]);
    seeOther(ctx, `${url}/sent`);
  }

  return {
    path: FORGOT_PATH,
    handle(ctx) {
      if (ctx.method === 'POST') return request(ctx);
      if (ctx.path === FORGOT_PATH) return ask(ctx);
      return show(ctx, { outcome: 'sent' });
    },
  };
}
