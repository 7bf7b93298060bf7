// The user and browser of an action on a page, for the audit trail and the user's activity.
import type { Context } from 'koa';
import { originOf } from '../observability/audit.ts';
import { placeOf } from '../oidc/place.ts';
import type { Actor } from '../users/acts.ts';

export const actorOf = (ctx: Context, by: 'user' | 'link' = 'user'): Actor => ({
  ...originOf(ctx.state),
  by,
  place: placeOf(ctx),
});
