// What a user allowed which app, as long as it lives, and the withdrawal of it.
import { GRANT, type RecordStore } from '../store/store.ts';
import type { Accounts } from '../users/accounts.ts';
import type { GrantEntry, UserIndex } from '../users/user-index.ts';
import type { UserSessions } from './user-sessions.ts';
import type { RememberedConsents } from './policies/remembered-consents.ts';
import { scopesIn } from './policies/scopes.ts';
import { createRecordForm, type RecordParts } from './record-payload.ts';
import { issuedWithGrant } from './signed-in-at.ts';

export type AllowedApp = Readonly<{
  clientId: string;
  scopes: readonly string[];
  resourceScopes: Readonly<Record<string, readonly string[]>>;
}>;

type GrantsParts = RecordParts & {
  readonly findLive: Accounts['findLive'];
  readonly index: Pick<UserIndex, 'grantsOf' | 'removeGrants'>;
  readonly records: Pick<RecordStore, 'find' | 'revokeGrant'>;
};

type Grant = Readonly<{
  clientId: string;
  openid?: { readonly scope?: string };
  resources?: Readonly<Record<string, string>>;
}>;

export function createUserGrants(parts: GrantsParts, sessions: UserSessions, consents: RememberedConsents) {
  const { index, records, findLive, tombstoneSeconds } = parts;
  const { payloadOf } = createRecordForm(GRANT, parts);

  async function find(accountId: string, { key }: GrantEntry): Promise<Grant | undefined> {
    const grant = payloadOf(await records.find(GRANT, key));
    if (grant?.accountId !== accountId) return undefined;
    return (await findLive(accountId, issuedWithGrant(grant))) && (grant as Grant);
  }

  return {
    async list(accountId: string): Promise<readonly AllowedApp[]> {
      const entries = await index.grantsOf(accountId);
      const grants = await Promise.all(entries.map((entry) => find(accountId, entry)));
      const live = grants.filter((grant) => grant !== undefined);
      const byClient = Map.groupBy(live, ({ clientId }) => clientId);
      return [...byClient].map(([clientId, ofClient]) => ({ clientId, ...allowedBy(ofClient) }));
    },
    /** Every token of the app for this user ends, and the next sign-in there asks again. False: there was nothing. */
    async withdraw(accountId: string, clientId: string): Promise<boolean> {
      await sessions.leave(accountId, clientId);
      // First what would make the next grant without asking: one that it made until now is among those that end.
      await consents.withdraw(accountId, clientId);
      const entries = (await index.grantsOf(accountId)).filter((entry) => entry.clientId === clientId);
      for (const { key } of entries) await records.revokeGrant(key, tombstoneSeconds);
      const keys = entries.map(({ key }) => key);
      await index.removeGrants(accountId, keys);
      return entries.length > 0;
    },
  };
}

const union = (texts: readonly (string | undefined)[]) => [...new Set(texts.flatMap(scopesIn))];

function allowedBy(grants: readonly Grant[]): Pick<AllowedApp, 'scopes' | 'resourceScopes'> {
  const resources = new Set(grants.flatMap((grant) => Object.keys(grant.resources ?? {})));
  return {
    scopes: union(grants.map(({ openid }) => openid?.scope)),
    resourceScopes: Object.fromEntries(
      [...resources].map((one) => [one, union(grants.map((grant) => grant.resources?.[one]))]),
    ),
  };
}
