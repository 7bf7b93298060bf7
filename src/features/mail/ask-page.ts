// The pages where anyone can request email: for a forgotten password, and to sign up. They don't look up users: they store
// what was typed and a job, and respond in the same way to everyone.
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { MAX_USERNAME_LENGTH } from '../../interaction/attempt.ts';
import { readFormBody } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';
import type { Route } from '../../interaction/account-page.ts';
import { networkOf } from '../../limits/network.ts';
import { clientAddressOf } from '../../observability/audit.ts';
import { cookieName, cookieOptions } from '../../oidc/cookie-names.ts';
import { pageContextOf, sendPage, seeOther } from '../../oidc/send-page.ts';
import { type MailJobs, newJob, TYPED } from './jobs.ts';

export function askPage(host: Host, jobs: MailJobs, page: 'forgot' | 'sign-up'): Route {
  const { config, csrf, limits, pages, store } = host;
  const { issuer, mail } = config;
  const url = `${issuer}/${page}`;
  const domains = mail?.signUp?.domains === 'any' ? undefined : mail?.signUp?.domains;
  const name = cookieName(issuer, 'forgot');
  const options = cookieOptions(issuer);
  const cookieOf = (ctx: Context) => ctx.cookies.get(name, options)?.slice(0, 100) ?? '';

  const show = (ctx: Context, model: Parameters<typeof pages.render<typeof page>>[1]) =>
    sendPage(ctx, pages.render(page, model, pageContextOf(ctx)));

  function ask(ctx: Context): void {
    const browser = cookieOf(ctx) || randomBytes(32).toString('base64url');
    ctx.cookies.set(name, browser, options);
    show(ctx, { outcome: 'ask', action: url, csrf: csrf.token(browser, page), domains });
  }

  async function request(ctx: Context): Promise<void> {
    const form = await readFormBody(ctx);
    const browser = cookieOf(ctx);
    csrf.check(form, browser, page);
    const typed = form.field(page === 'forgot' ? 'username' : 'email').slice(0, MAX_USERNAME_LENGTH);
    const address = clientAddressOf(ctx);
    const ofNetwork = limits.quotaOf('mail.network', networkOf(address));
    await limits.takeExactly({ address }, [limits.quotaOf('mail.address', address), ofNetwork]);
    const job = newJob({ what: page, locale: pageContextOf(ctx).locale, isAsked: true });
    await store.records.save({ ...TYPED, key: job.id, payload: JSON.stringify({ typed }) });
    await jobs.add([job]);
    seeOther(ctx, `${url}/sent`);
  }

  return {
    path: `/${page}`,
    handle(ctx) {
      if (ctx.method === 'POST') return request(ctx);
      if (!ctx.path.endsWith('/sent')) return ask(ctx);
      return show(ctx, { outcome: 'sent' });
    },
  };
}
