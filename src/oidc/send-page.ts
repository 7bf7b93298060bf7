// Sends pages and redirects for all folders.
import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { PageModels, PageName } from '../views/models.ts';
import type { Pages, RenderContext } from '../views/pages.ts';

/** The context that http/language.ts has set. */
export const pageContextOf = ({ state }: Pick<Context, 'state'>) => state['page'] as RenderContext;

type PageAnswer = Pick<Context, 'set'> & { type: string; body: unknown };

/** Sends a page for one user: no cache may keep it, and no other window gets a reference to it. */
export function sendPage(ctx: PageAnswer, html: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
  ctx.type = 'html';
  ctx.body = html;
}

/** Shows a page in the language of the request. */
export function showPage<Name extends PageName>(
  ctx: PageAnswer & Pick<Context, 'state' | 'status'>,
  pages: Pages,
  [name, model]: readonly [Name, PageModels[Name]],
  status = 200,
): void {
  ctx.status = status;
  sendPage(ctx, pages.render(name, model, pageContextOf(ctx)));
}

/** RFC 9700 §4.12: 303, so that no browser sends the password on to the next URL. */
export function seeOther(ctx: Pick<Context, 'redirect' | 'status'>, url: string): void {
  ctx.redirect(url);
  ctx.status = 303;
}

/** The parameters of an authorization response, by their protocol names. */
export type Answer = Readonly<Record<string, string>>;

export type SendAnswer = (ctx: KoaContextWithOIDC, redirectUri: string, answer: Answer) => Promise<void>;

export function redirectWith(
  ctx: PageAnswer & Pick<Context, 'redirect' | 'status'>,
  redirectUri: string,
  answer: Answer,
): void {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
  seeOther(ctx, url.href);
  ctx.body = '';
}
