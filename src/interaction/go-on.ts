// What the browser gets for an interaction that is over: finished, expired, or another browser's. The page says why as far as
// that is known, and leads back to the app where the browser remembers it.
import type { Context } from 'koa';
import type { ClientModel } from '../views/models.ts';
import { Refusal } from '../views/refusal.ts';

export function expired(ctx: Context, client?: ClientModel): Refusal {
  // Every page of a sign-in comes with cookies: a browser that sends none keeps none, or is another one.
  if (ctx.get('Cookie') === '')
    return new Refusal(400, 'no_cookies', 'the browser sent no cookie with this page of a sign-in', client);
  return new Refusal(
    400,
    'expired',
    'this sign-in is no longer open, please go back to the app and start again',
    client,
  );
}
