// What a user finds among the last events of their account.
import type { Context } from 'koa';
import type { UserIndex, SecurityEvent } from '../users/user-index.ts';
import { placeOf } from '../oidc/place.ts';

export type Tell = ReturnType<typeof createTell>;

/** `index` undefined: users can't look. */
export function createTell(index: Pick<UserIndex, 'addEvent'> | undefined) {
  return async (ctx: Context, accountId: string, what: SecurityEvent['what'], app?: string) =>
    // It was done all the same: an error page would deny it.
    index?.addEvent(accountId, { what, app, place: placeOf(ctx) }).catch(() => undefined);
}
