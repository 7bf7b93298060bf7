// Redirects a browser from a sign-in page, and answers requests for a sign-in that is over.
import type { Context } from 'koa';
import type { Destination } from '../oidc/interactions.ts';
import { seeOther } from '../oidc/send-page.ts';
import type { ClientModel } from '../views/shared-models.ts';
import { Refusal } from '../views/refusal.ts';

/** Sets the status of a page that is shown again. */
export function answerAgain(ctx: Context, status: number, retryAfterSeconds?: number): void {
  ctx.status = status;
  if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
}

export function continueTo(
  ctx: Context,
  { client }: { readonly client: ClientModel },
  destination: Destination,
): void {
  if (destination === 'gone') throw expired(ctx, client);
  if (destination !== 'answered') seeOther(ctx, destination.url);
}

/** The refusal of a sign-in that is finished, expired or another browser's. Its page says why and links to the app, if known. */
export function expired(ctx: Context, client?: ClientModel): Refusal {
  // Every sign-in page sets cookies: a browser that sends none blocks them, or is another browser.
  const [error, text] =
    ctx.get('Cookie') === ''
      ? ['no_cookies', 'the browser sent no cookie with this page of a sign-in']
      : ['expired', 'this sign-in is no longer open, please go back to the app and start again'];
  return new Refusal(400, error, text, client);
}
