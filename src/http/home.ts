// The page at the issuer itself: where a newcomer begins on this machine, elsewhere the name of the service and nothing else.
import type { Middleware } from 'koa';
import { ENDPOINTS, HOME_PATH } from '../config/endpoints.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import { pageContextOf, sendPage } from '../oidc/send-page.ts';
import type { Pages } from '../views/pages.ts';
import { type DemoSettings, tryUrlOf } from '../features/try-out/run.ts';

export function showHome(config: DemoSettings, pages: Pages): Middleware {
  const { issuer } = config;
  const start = isLoopbackUrl(issuer)
    ? { issuer, discoveryUrl: `${issuer}${ENDPOINTS.discovery}`, tryUrl: tryUrlOf(config) }
    : undefined;

  return async function home(ctx, next) {
    if (ctx.path !== HOME_PATH) return next();
    const { locale, languageUrl } = pageContextOf(ctx);
    // A name needs no translation.
    sendPage(ctx, pages.render('home', { start }, { locale, languageUrl: start && languageUrl }));
    return undefined;
  };
}
