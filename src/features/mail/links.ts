// Links in emails to the page of link-page.ts. Unlike one-time links, they don't end with the user's sessions or password.
import { parseJsonObject } from '../../config/parse-fields.ts';
import type { App } from '../../oidc/app.ts';
import { EMAIL_PATH } from './feature.ts';

const KIND = 'MailLink';

/** Confirms its address, restores it (undo), or creates a user with it. Ends when the user's state (state.ts) has another `id`. */
export type MailLink = Readonly<
  Record<'accountId' | 'address' | 'id', string> & { purpose: 'address' | 'undo' | 'new_user' }
>;

/** Writes to the store directly, because a link must be saved before it is sent. */
export function createMailLinks({ issuer, hash, store }: Pick<App, 'issuer' | 'hash' | 'store'>) {
  const { now } = store.clock;
  const keyOf = (token: string) => hash(`email link:${token}`);
  return {
    /** Resolves the URL. The same token again replaces its link. */
    async save(link: MailLink, ttlSeconds: number, token: string): Promise<string> {
      const payload = JSON.stringify({ ...link, until: now() + ttlSeconds * 1000 });
      const life = { ttlSeconds: 2 * ttlSeconds, isAwaited: true };
      await store.records.save({ kind: KIND, key: keyOf(token), payload, ...life });
      return `${issuer}${EMAIL_PATH}/${token}`;
    },
    /** Undefined: the token is unknown or expired long ago. Until then, the page of an expired link leads to where users get another. */
    async find(token: string): Promise<(MailLink & { isOver: boolean }) | undefined> {
      const record = await store.records.find(KIND, keyOf(token));
      const link = record && (parseJsonObject(record.payload) as (MailLink & { until: number }) | undefined);
      return link && { ...link, isOver: link.until <= now() };
    },
  };
}
