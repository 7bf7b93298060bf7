// Lists the live grants of a user to apps, and withdraws them.
import type { Host } from '../../interaction/host.ts';
import { type AskedFor, joinAsked } from '../../oidc/policies/asked-for.ts';
import { scopesIn } from '../../oidc/policies/scopes.ts';
import { createRecordForm } from '../../oidc/record-payload.ts';
import { issuedWithGrant } from '../../oidc/seam/session-sign-in.ts';
import type { UserLists } from '../../oidc/user-lists.ts';
import { GRANT } from '../../store/store.ts';
import type { GrantEntry } from '../../users/user-index.ts';

type AllowedApp = AskedFor & { readonly clientId: string };

type Grant = Readonly<{
  clientId: string;
  openid?: { readonly scope?: string };
  resources?: Readonly<Record<string, string>>;
}>;

const toAllowed = ({ clientId, openid, resources = {} }: Grant): AllowedApp => ({
  clientId,
  scopes: scopesIn(openid?.scope),
  resourceScopes: Object.fromEntries(Object.entries(resources).map(([one, scope]) => [one, scopesIn(scope)])),
});

export function createUserGrants(host: Host, { index, userSessions }: UserLists) {
  const { findLive, consents, tombstoneSeconds } = host;
  // Not the records of this request, so that the page shows what is stored.
  const { records } = host.store;
  const { payloadOf } = createRecordForm(GRANT, host);

  async function find(accountId: string, { key }: GrantEntry): Promise<AllowedApp | undefined> {
    const grant = payloadOf(await records.find(GRANT, key));
    if (grant?.accountId !== accountId) return undefined;
    return (await findLive(accountId, issuedWithGrant(grant))) && toAllowed(grant as Grant);
  }

  return {
    async list(accountId: string): Promise<readonly AllowedApp[]> {
      const entries = await index.grantsOf(accountId);
      const grants = await Promise.all(entries.map((entry) => find(accountId, entry)));
      const live = grants.filter((grant) => grant !== undefined);
      const byClient = Map.groupBy(live, ({ clientId }) => clientId);
      return [...byClient].map(([clientId, ofClient]) => ({ clientId, ...joinAsked(ofClient) }));
    },
    /** Ends every token of the app for this user; its next sign-in asks again. Resolves false if there was none. */
    async withdraw(accountId: string, clientId: string): Promise<boolean> {
      await userSessions.leave(accountId, clientId);
      // The consent first: it would create the next grant without asking. Grants that it created until now end below.
      await consents.withdraw(accountId, clientId);
      const entries = (await index.grantsOf(accountId)).filter((entry) => entry.clientId === clientId);
      for (const { key } of entries) await records.revokeGrant(key, tombstoneSeconds);
      const keys = entries.map(({ key }) => key);
      await index.removeGrants(accountId, keys);
      return entries.length > 0;
    },
  };
}
