// A link that an operator gives to a person: it makes the browser that follows it a trusted one, once.
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, RecordStore } from '../store/store.ts';
import type { AccountStates } from './account-state.ts';

const KIND = 'TrustLink';
export const TRUST_LINK_SECONDS = 24 * 60 * 60;

/** The page that the link leads to. */
export const trustLinkUrl = (issuer: string, token: string) => `${issuer}/interaction/trust/${token}`;

/** Every method throws StoreUnavailable. */
export interface TrustLinks {
  /** The token of a new link. */
  create(accountId: string): Promise<string>;
  /** Whose link it is, as long as it works. Uses nothing up. */
  find(token: string): Promise<string | undefined>;
  /** Uses the link up, and ends the failures in a row of unknown places. False: it was used up already, or has expired. */
  use(token: string, accountId: string): Promise<boolean>;
}

export type TrustLinksParts = {
  readonly records: RecordStore;
  readonly states: AccountStates;
  readonly hash: KeyedHash;
  readonly random: (bytes: number) => Buffer;
  /** Of the store, as for all that ends failures. */
  readonly now: Clock;
};

export function createTrustLinks({ records, states, hash, random, now }: TrustLinksParts): TrustLinks {
  const keyOf = (token: string) => hash(`trust link:${token}`);
  return {
    async create(accountId) {
      const token = random(32).toString('base64url');
      // It is handed out: where failovers are to be expected, a replica has it first.
      const life = { ttlSeconds: TRUST_LINK_SECONDS, isAwaited: true };
      await records.save({ kind: KIND, key: keyOf(token), payload: accountId, ...life });
      return token;
    },
    async find(token) {
      const record = await records.find(KIND, keyOf(token));
      return record?.consumedAt === undefined ? record?.payload : undefined;
    },
    async use(token, accountId) {
      if ((await records.consume(KIND, keyOf(token))) !== 'consumed') return false;
      await states.update(accountId, { attemptsSince: now() });
      return true;
    },
  };
}
