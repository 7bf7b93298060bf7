// Where a browser goes on to from a page of a sign-in, and what it gets for one that is over.
import type { Context } from 'koa';
import { ANSWERED } from '../oidc/interactions.ts';
import { seeOther } from '../oidc/send-page.ts';
import type { ClientModel } from '../views/models.ts';
import { Refusal } from '../views/refusal.ts';

/** The status of a page that is shown again. */
export function answerAgain(ctx: Context, status: number, retryAfterSeconds?: number): void {
  ctx.status = status;
  if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
}

/** `destination`: of a `finish…`. */
export function goOn(
  ctx: Context,
  { client }: { readonly client: ClientModel },
  destination: string | undefined,
): void {
  if (destination === undefined) throw expired(ctx, client);
  if (destination !== ANSWERED) seeOther(ctx, destination);
}

/** Finished, expired, or another browser's: as far as that is known, the page says why, and leads back to the app. */
export function expired(ctx: Context, client?: ClientModel): Refusal {
  // Every page of a sign-in comes with cookies: a browser that sends none keeps none, or is another one.
  const [error, text] =
    ctx.get('Cookie') === ''
      ? ['no_cookies', 'the browser sent no cookie with this page of a sign-in']
      : ['expired', 'this sign-in is no longer open, please go back to the app and start again'];
  return new Refusal(400, error, text, client);
}
