// The page at the issuer URL: next steps if the issuer is on localhost, otherwise only the name of the service.
import type { Middleware } from 'koa';
import type { Config } from '../config/config.ts';
import type { Beginning } from '../config/demo.ts';
import { ENDPOINTS, HOME_PATH } from '../config/endpoints.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import { list } from '../features/index.ts';
import { pageContextOf, sendPage } from '../oidc/send-page.ts';
import type { Pages } from '../views/pages.ts';

const BEGIN: readonly ((config: Config) => Beginning | undefined)[] = list('begin');

/** Next steps, if a feature has some. */
export const beginningOf = (config: Config) => BEGIN.map((begin) => begin(config)).find(Boolean);

export function showHome(config: Config, pages: Pages): Middleware {
  const { issuer } = config;
  const start = isLoopbackUrl(issuer)
    ? { issuer, discoveryUrl: `${issuer}${ENDPOINTS.discovery}`, tryUrl: beginningOf(config)?.url }
    : undefined;

  return async function home(ctx, next) {
    if (ctx.path !== HOME_PATH) return next();
    const { locale, languageUrl } = pageContextOf(ctx);
    // The name isn't translated.
    sendPage(ctx, pages.render('home', { start }, { locale, languageUrl: start && languageUrl }));
    return undefined;
  };
}
