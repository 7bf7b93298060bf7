// The language of the pages for one browser: the browser's, the one that the app asks for, and the one that the user chose
// on a page, which a cookie stores.
import type { Context, Middleware } from 'koa';
import { ENDPOINT_TABLE } from '../config/endpoints.ts';
import { cookieNames, cookieOptions } from '../oidc/cookie-names.ts';
import type { LanguageWishes } from '../views/locale.ts';
import type { Pages, RenderContext } from '../views/pages.ts';

const PROGRAM_PATHS = ENDPOINT_TABLE.filter(({ caller }) => caller !== 'person').map(({ path }) => path);
const PROGRAM_FOLDERS = ['/assets/', '/.well-known/'];
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/** Sets `ctx.state.language` (all that is known) and `ctx.state.page` (how a page is rendered without an app's wish). */
export function setLanguage(pages: Pages, issuer: string): Middleware {
  const { language: remembered } = cookieNames(issuer);
  const forPrograms = pages.localeFor({});
  const options = cookieOptions(issuer);

  /** `?lang=` of a link on our pages. */
  function choose(ctx: Context): string | undefined {
    const wanted = queryOf(ctx, 'lang');
    if (wanted === undefined) return undefined;
    const locale = pages.localeFor({ chosen: wanted });
    ctx.cookies.set(remembered, locale, { ...options, maxAge: YEAR_MS });
    return locale;
  }

  return async function setLocale(ctx, next) {
    // Programs don't need a language, and a cached response must not contain a caller's cookie.
    if (!isPage(ctx.path)) {
      ctx.state['page'] = { locale: forPrograms } satisfies RenderContext;
      return next();
    }
    const wishes: LanguageWishes = {
      chosen: choose(ctx) ?? ctx.cookies.get(remembered, options),
      uiLocales: queryOf(ctx, 'ui_locales'),
      acceptLanguage: ctx.acceptsLanguages(),
    };
    ctx.state['language'] = wishes;
    ctx.state['page'] = { locale: pages.localeFor(wishes), languageUrl: linkTo(ctx) } satisfies RenderContext;
    return next();
  };
}

/** Called before the edge removes the issuer's path, which follows the well-known address in one of its two forms. */
function isPage(path: string): boolean {
  return (
    !PROGRAM_FOLDERS.some((one) => path.includes(one)) && !PROGRAM_PATHS.some((one) => path.endsWith(one))
  );
}

/** Links to the same page in another language, if its address alone leads to it: no page repeats what a request sent. */
function linkTo({ method, query }: Context): RenderContext['languageUrl'] {
  const { lang: _, client_id: client, ...others } = query;
  const isPlain = client === undefined || /^[\w.-]{1,100}$/.test(String(client));
  if (method !== 'GET' || !isPlain || Object.keys(others).length > 0) return undefined;
  return (locale) => `?${client === undefined ? '' : `client_id=${String(client)}&`}lang=${locale}`;
}

function queryOf(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
