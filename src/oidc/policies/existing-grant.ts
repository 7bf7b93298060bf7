// The grant that an authorization request starts from: the one just consented to, the session's, one from remembered consents, or, for an
// app with `consent: implicit`, one with everything that is asked for. Also ends implicit grants when that setting is removed.
import type Provider from 'oidc-provider';
import type { Adapter, Grant, KoaContextWithOIDC } from 'oidc-provider';
import type { Client } from '../../config/config.ts';
import type { DocumentStore } from '../../store/store.ts';
import type { Narrowing } from '../guard.ts';
import { addToGrant, type AskedFor, askedFor } from './asked-for.ts';
import type { App } from '../app.ts';

/** The user, the app and the user's generation at sign-in: a grant of another generation is no longer valid. */
type GrantOf = Readonly<{
  accountId: string;
  clientId: string;
  generation: string | undefined;
  /** Who gave the grant: the configuration or the user; `pinned`: the user, to a document that the configuration pins. */
  consent: Client['consent'] | 'pinned';
}>;

declare module 'oidc-provider' {
  interface Grant {
    consent?: GrantOf['consent'];
  }
}

export async function findGrant(
  provider: Provider,
  grantId: string | undefined,
  of: Pick<GrantOf, 'accountId' | 'clientId' | 'generation'>,
): Promise<Grant | undefined> {
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const isOf = grant?.accountId === of.accountId && grant.clientId === of.clientId;
  return isOf && grant.generation === of.generation ? grant : undefined;
}

/** Adds `allowed` to `existing` or a new grant, unsaved. What the user allows stays apart from what the configuration does. */
export function grantWith(
  provider: Provider,
  existing: Grant | undefined,
  allowed: AskedFor,
  { accountId, clientId, generation, consent }: GrantOf,
): Grant {
  // Grants of an earlier version have no `consent`.
  const isOfSame = existing !== undefined && (existing.consent ?? 'explicit') === consent;
  const grant = isOfSame
    ? existing
    : Object.assign(new provider.Grant({ accountId, clientId }), { generation, consent });
  addToGrant(grant, allowed);
  return grant;
}

/** Documents with the clients that once had `consent: implicit`: their grants without `consent` may be the configuration's. */
const ONCE_IMPLICIT = 'implicit-clients';

/** Notes the clients that have `consent: implicit` now, for `endImplicitGrants`. Throws StoreUnavailable. */
export async function noteImplicitClients(clients: readonly Client[], documents: DocumentStore) {
  for (const { clientId, consent } of clients) {
    const isNoted = consent !== 'implicit' || (await documents.get(ONCE_IMPLICIT, clientId));
    if (!isNoted) await documents.put(ONCE_IMPLICIT, clientId, '{}', 0);
  }
}

/** Revokes implicit grants of a client that now has to ask, and grants of a user to a document that is no longer pinned. */
export function endImplicitGrants(adapter: Adapter, { clients, records }: App): Adapter {
  return {
    ...adapter,
    async find(id) {
      const grant = await adapter.find(id);
      if (!grant || grant['consent'] === 'explicit') return grant;
      const { clientId = '', consent } = grant;
      if (consent === undefined && !(await records.documents.get(ONCE_IMPLICIT, clientId))) return grant;
      const isKept =
        consent === 'pinned'
          ? clients.find(clientId)
          : (await clients.load(clientId))?.consent !== 'explicit';
      if (isKept) return grant;
      await adapter.destroy(id);
      return undefined;
    },
  };
}

export function createLoadExistingGrant(
  { clients, consents }: App,
  /** Undefined when the configuration has no access rules. */
  narrowing: Narrowing | undefined,
) {
  return async function loadExistingGrant(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    // Nothing is stored for a user without access; the prompt `access` shows them a page.
    if (narrowing?.narrow(ctx) === false) return undefined;
    const { client, session, account, result, provider } = ctx.oidc;
    if (client === undefined || session === undefined || account === undefined) return undefined;
    const { accountId } = account;
    const { clientId } = client;
    const settings = await clients.load(clientId);
    if (settings === undefined) return undefined;
    const grantId = result?.consent?.grantId ?? session.grantIdFor(clientId);
    const { consent } = settings;
    const of = { accountId, clientId, generation: session.generation, consent };
    const existing = await findGrant(provider, grantId, of);
    if (consent === 'implicit') return extend(provider, existing, askedFor(ctx), of);
    const remembered = await consents.find(accountId, clientId);
    return remembered === undefined ? existing : extend(provider, existing, remembered, of);
  };
}

async function extend(provider: Provider, existing: Grant | undefined, allowed: AskedFor, of: GrantOf) {
  if (covers(existing, allowed)) return existing;
  const grant = grantWith(provider, existing, allowed, of);
  await grant.save();
  return grant;
}

const includes = (granted: string, asked: readonly string[]) =>
  asked.every((one) => granted.split(' ').includes(one));

function covers(grant: Grant | undefined, consent: AskedFor): boolean {
  return (
    grant !== undefined &&
    includes(grant.getOIDCScopeEncountered(), consent.scopes) &&
    Object.entries(consent.resourceScopes).every(([resource, asked]) =>
      includes(grant.getResourceScopeEncountered(resource), asked),
    )
  );
}
