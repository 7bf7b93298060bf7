// One-time links: each is for one user and one purpose, and works once. A link that an administrator hands out replaces the older one of
// its purpose; emailed links replace none. A new password or disabling the user revokes them all.
import { randomBytes } from 'node:crypto';
import { parseJsonObject } from '../config/parse-fields.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { type Clock, withMayBeDone, type RecordStore } from '../store/store.ts';
import type { AccountState, AccountStates } from './account-state.ts';
import type { FactorStore } from './factors.ts';

const KIND = 'OneTimeLink';

/** invite: the first password. reset: another password. factors: the first factor. */
export const LINK_PURPOSES = ['invite', 'reset', 'factors'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

export const oneTimeLinkUrl = (issuer: string, token: string) => `${issuer}/interaction/link/${token}`;

export type OneTimeLink = Readonly<{
  purpose: LinkPurpose;
  accountId: string;
  /** The user's `validAfter` when the link was created; 0 for a user in the file. */
  passwordSince: number;
  /** The `validAfter` of the user's state at that time. */
  stateSince: number;
  /** The user's `sessionsSince` at that time: a link for the first factor is revoked once one is added, even if it is removed again. */
  sessionsSince?: number | undefined;
  /** The address that it was sent to. The link is revoked once the user has another address. */
  mailedTo?: string | undefined;
}>;

type OneTimeLinksParts = Readonly<{
  records: RecordStore;
  states: AccountStates;
  factors: Pick<FactorStore, 'get'>;
  hash: KeyedHash;
  /** The clock of the store, which applies wherever failures are reset. */
  now: Clock;
}>;

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

const ENROLLING: readonly LinkPurpose[] = ['factors', 'invite'];

const isCurrent = ({ stateSince }: OneTimeLink, { validAfter }: AccountState) => validAfter === stateSince;

const newToken = () => randomBytes(32).toString('base64url');

export function createOneTimeLinks({ records, states, factors, hash, now }: OneTimeLinksParts) {
  const keyOf = (token: string) => hash(`link:${token}`);
  const aliasOf = (purpose: LinkPurpose, accountId: string) => hash(`link of:${purpose}:${accountId}`);
  const sinceOf = async ({ purpose, accountId }: OneTimeLink) =>
    ENROLLING.includes(purpose) ? (await factors.get(accountId)).sessionsSince : 0;
  return {
    /** Resolves the token of a new link: `own`, unless it was used. A link that isn't emailed replaces the older one of its purpose. */
    async create(link: OneTimeLink, ttlSeconds: number, own = newToken()): Promise<string> {
      // Emailed links have no alias: otherwise, anyone who requests an email could revoke an administrator's link.
      const alias = link.mailedTo === undefined ? aliasOf(link.purpose, link.accountId) : undefined;
      const payload = JSON.stringify({ ...link, sessionsSince: await sinceOf(link) });
      for (let token = own; ; token = newToken()) {
        const older = alias && (await records.findByAlias(KIND, alias));
        if (older) await records.destroy(KIND, older.key);
        // The link is handed out, so a replica must have it first where failovers are to be expected.
        const life = { ttlSeconds, isAwaited: true };
        const result = await records.save({ kind: KIND, key: keyOf(token), payload, alias, ...life });
        // Otherwise, another link was created at the same time.
        if (result === 'saved') return token;
      }
    },
    /** Whether there is a link that was not used and has not expired. */
    async isOpen(purpose: LinkPurpose, accountId: string): Promise<boolean> {
      const record = await records.findByAlias(KIND, aliasOf(purpose, accountId));
      return record !== undefined && record.consumedAt === undefined;
    },
    /** Finds a link without using it. Resolves undefined if it is made up, has expired, or was replaced. */
    async find(token: string) {
      const record = await records.find(KIND, keyOf(token));
      const link = record && (parseJsonObject(record.payload) as OneTimeLink | undefined);
      // An earlier version had one more purpose.
      if (typeof link?.accountId !== 'string' || !LINK_PURPOSES.includes(link.purpose)) return undefined;
      const [state, since] = await Promise.all([states.get(link.accountId), sinceOf(link)]);
      const isOver = since !== (link.sessionsSince ?? 0) || !isCurrent(link, state);
      return { ...link, isUsed: record?.consumedAt !== undefined, isOver };
    },
    /** Resets the failures in a row of unknown places, before the link is used. Resolves false if it was revoked in the meantime. */
    async accept(link: OneTimeLink): Promise<boolean> {
      const accepting = states.update(link.accountId, (before) =>
        isCurrent(link, before) ? { attemptsSince: now() } : undefined,
      );
      return isCurrent(link, await withMayBeDone(false, accepting));
    },
    use: (token: string) => records.consume(KIND, keyOf(token)),
  };
}
