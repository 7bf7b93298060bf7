// One-time links: each is for one user and one purpose, and works once. A link that an administrator hands out replaces the older one of its
// purpose; links that are emailed stand beside it. A new password or disabling the user ends them all.
import { randomBytes } from 'node:crypto';
import { parseJsonObject } from '../config/parse-fields.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { type Clock, failingAs, type RecordStore } from '../store/store.ts';
import type { AccountState, AccountStates } from './account-state.ts';
import type { FactorStore } from './factors.ts';

const KIND = 'OneTimeLink';

/** invite: the first password. reset: another password. factors: the first factor. */
export const LINK_PURPOSES = ['invite', 'reset', 'factors'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

/** The page that the link leads to. */
export const oneTimeLinkUrl = (issuer: string, token: string) => `${issuer}/interaction/link/${token}`;

export type OneTimeLink = Readonly<{
  purpose: LinkPurpose;
  accountId: string;
  /** The `validAfter` of the user, 0 for one of the file, when the link was made. */
  passwordSince: number;
  /** That of their state. */
  stateSince: number;
  /** That of their factors: a link for the first factor is dead once there was one, also if it is gone again. */
  sessionsSince?: number | undefined;
  /** The address that it was sent to: it is dead once the user has another one. */
  mailedTo?: string | undefined;
}>;

type OneTimeLinksParts = Readonly<{
  records: RecordStore;
  states: AccountStates;
  factors: Pick<FactorStore, 'get'>;
  hash: KeyedHash;
  /** Of the store, as for all that ends failures. */
  now: Clock;
}>;

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

/** These give the first factor. */
const ENROLLING: readonly LinkPurpose[] = ['factors', 'invite'];

const isCurrent = ({ stateSince }: OneTimeLink, { validAfter }: AccountState) => validAfter === stateSince;

const newToken = () => randomBytes(32).toString('base64url');

export function createOneTimeLinks({ records, states, factors, hash, now }: OneTimeLinksParts) {
  const keyOf = (token: string) => hash(`link:${token}`);
  const aliasOf = (purpose: LinkPurpose, accountId: string) => hash(`link of:${purpose}:${accountId}`);
  const sinceOf = async ({ purpose, accountId }: OneTimeLink) =>
    ENROLLING.includes(purpose) ? (await factors.get(accountId)).sessionsSince : 0;
  return {
    /** The token of a new link: `own`, unless that was used. One that is sent stands beside all others; of those that are handed out, an older one of the same purpose is gone. */
    async create(link: OneTimeLink, ttlSeconds: number, own = newToken()): Promise<string> {
      // Else anyone who asks for an email could end a link of an operator's.
      const alias = link.mailedTo === undefined ? aliasOf(link.purpose, link.accountId) : undefined;
      const payload = JSON.stringify({ ...link, sessionsSince: await sinceOf(link) });
      for (let token = own; ; token = newToken()) {
        const older = alias && (await records.findByAlias(KIND, alias));
        if (older) await records.destroy(KIND, older.key);
        // It is handed out: where failovers are to be expected, a replica has it first.
        const life = { ttlSeconds, isAwaited: true };
        const result = await records.save({ kind: KIND, key: keyOf(token), payload, alias, ...life });
        // Else another one was made at the same moment.
        if (result === 'saved') return token;
      }
    },
    /** Whether there is a link that was not used and has not expired. */
    async isOpen(purpose: LinkPurpose, accountId: string): Promise<boolean> {
      const record = await records.findByAlias(KIND, aliasOf(purpose, accountId));
      return record !== undefined && record.consumedAt === undefined;
    },
    /** Undefined: made up, past its end, or there is a newer one. Uses nothing up. */
    async find(token: string) {
      const record = await records.find(KIND, keyOf(token));
      const link = record && (parseJsonObject(record.payload) as OneTimeLink | undefined);
      // An earlier version had one more purpose.
      if (typeof link?.accountId !== 'string' || !LINK_PURPOSES.includes(link.purpose)) return undefined;
      const [state, since] = await Promise.all([states.get(link.accountId), sinceOf(link)]);
      const isOver = since !== (link.sessionsSince ?? 0) || !isCurrent(link, state);
      return { ...link, isUsed: record?.consumedAt !== undefined, isOver };
    },
    /** Ends the failures in a row of unknown places, before the link is used. False: it has ended meanwhile. */
    async accept(link: OneTimeLink): Promise<boolean> {
      const accepting = states.update(link.accountId, (before) =>
        isCurrent(link, before) ? { attemptsSince: now() } : undefined,
      );
      return isCurrent(link, await failingAs(false, accepting));
    },
    use: (token: string) => records.consume(KIND, keyOf(token)),
  };
}
