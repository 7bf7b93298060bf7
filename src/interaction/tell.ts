// What a person finds among the last events of their account.
import type { Context } from 'koa';
import type { PersonIndex, SecurityEvent } from '../oidc/person-index.ts';
import { placeOf } from '../oidc/place.ts';

/** Throws StoreUnavailable. */
export type Tell = (
  ctx: Context,
  accountId: string,
  what: SecurityEvent['what'],
  app?: string,
) => Promise<void>;

export function createTell(index: Pick<PersonIndex, 'addEvent'>): Tell {
  return (ctx, accountId, what, app) => index.addEvent(accountId, { what, app, place: placeOf(ctx) });
}
